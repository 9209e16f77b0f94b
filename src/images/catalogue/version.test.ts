import { expect, it } from 'vitest'
import { compareVersions, formatVersion, parseVersion } from './version.ts'

it.each([
  ['26.3.1', '27.0.0'],
  ['9.0.0', '10.0.0'],
  ['27.0.9', '27.0.10'],
  ['27.1.0', '27.2.0'],
  ['27.0.0-rc1', '27.0.0'],
  ['27.0.0-rc2', '27.0.0-rc10'],
  ['27.0.0-alpha.2', '27.0.0-rc1'],
  ['27.0.0-rc', '27.0.0-rc1'],
  ['27.0.0-2', '27.0.0-rc'],
  ['27.0.0-rc.9.1', '27.0.0-rc.10'],
  ['26.9.9', '27.0.0-rc1'],
])('compareVersions puts %s below %s', (lower, higher) => {
  expect(compareVersions(parseVersion(lower), parseVersion(higher))).toBeLessThan(0)
  expect(compareVersions(parseVersion(higher), parseVersion(lower))).toBeGreaterThan(0)
  expect(compareVersions(parseVersion(lower), parseVersion(lower))).toBe(0)
})

it.each(['0.0.0', '27.0.1', '27.0.0-rc1', '27.0.0-a-b.1'])('formatVersion writes what parseVersion reads: %s', text => {
  expect(formatVersion(parseVersion(text))).toBe(text)
})
