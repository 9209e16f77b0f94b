import { expect, test } from 'vitest'
import { splitRule } from './network.ts'

test('splitRule splits a rule as a shell would, with quoted comments', () => {
  expect(splitRule('-A CNI-HOSTPORT-DNAT -m comment --comment "dnat name: \\"box\\"" -j CNI-DN-1')).toEqual([
    '-A',
    'CNI-HOSTPORT-DNAT',
    '-m',
    'comment',
    '--comment',
    'dnat name: "box"',
    '-j',
    'CNI-DN-1',
  ])
})
