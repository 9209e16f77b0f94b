import { expect, test } from 'vitest'
import { splitRule } from './network.ts'

test('a rule is taken apart as a shell would, comments in quotes included', () => {
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
