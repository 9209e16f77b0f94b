import { expect, it } from 'vitest'
import { describeTag } from './describe.ts'

it.each([
  ['w_2022_37', 'Weekly 2022_37'],
  ['d_2022_09_14', 'Daily 2022_09_14'],
  ['r23_0_1', 'Release r23.0.1'],
  ['r170', 'Release r170'],
  ['r24_0_0_rc1', 'Release Candidate r24.0.0-rc1'],
  ['exp_w_2022_37_nosudo', 'Experimental w_2022_37_nosudo'],
  ['recommended', 'Recommended'],
  ['w_2022', 'w_2022'],
  ['latest', 'latest'],
  ['constructor', 'constructor'],
])('describes %s', (tag, description) => {
  expect(describeTag(tag)).toBe(description)
})
