import { expect, test } from 'vitest'
import { filesOf, hasAttack, wings } from './wings.ts'

const names = [
  ...['kill.test.ts', 'idle.test.ts', 'tenants.test.ts', 'declarations.test.ts', 'late-declarations.test.ts'],
  ...['kill.node.test.ts', 'term.attack.ts', 'wave.ts', 'gateway.test.ts'],
  ...['apps.test.ts', 'idle-apps.test.ts', 'dispatch.test.ts'],
]

test('filesOf gives each file with attacks to one wing, and the rest to the labs', () => {
  expect(filesOf('labs', names)).toEqual(['kill.test.ts', 'kill.node.test.ts'])
  expect(filesOf('reconcile', names)).toEqual(['declarations.test.ts', 'late-declarations.test.ts'])
  expect(filesOf('tenants', names)).toEqual(['tenants.test.ts'])
  expect(filesOf('idle', names)).toEqual(['idle.test.ts'])
  expect(filesOf('gateway', names)).toEqual(['gateway.test.ts'])
  expect(filesOf('dispatch', names)).toEqual(['dispatch.test.ts'])
  expect(filesOf('apps', names)).toEqual(['apps.test.ts', 'idle-apps.test.ts'])
})

test.each([
  ['T3 ', 'labs'],
  ['toys T7', 'labs'],
  ['N3 late', 'reconcile'],
  ['tenants N3 ', 'tenants'],
  ['idle K7 ', 'idle'],
  ['gateway G2 ', 'gateway'],
  ['apps K3 ', 'apps'],
  ['dispatch V1 ', 'dispatch'],
])('hasAttack gives %j to %s alone', (name, wing) => {
  expect(wings.filter(each => hasAttack(each, name))).toEqual([wing])
})
