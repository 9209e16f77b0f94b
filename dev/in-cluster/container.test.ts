import { expect, test } from 'vitest'
import { demand } from './container.ts'

const shown = {
  ...{
    uuid: 'zzzzz-dz642-00000hojw610ki7',
    machine: 'i-1',
    killed: 'a',
    keptBy: 'b',
    state: 'Complete',
    exitCode: 0,
    runs: 1,
  },
  ...{ output: '17 on i-1\n17 ends\n', reaches: { cloud: true, apiServer: false } },
}

test('demand accepts a container that ran once, as one process, on its machine', () => {
  expect(() => demand(shown)).not.toThrow()
})

test.each([
  ['another process ended it', { output: '17 on i-1\n18 ends\n' }, /not the output of one process/],
  ['another machine ran it', { output: '17 on i-2\n17 ends\n' }, /not the output of one process/],
  ['nothing was printed', { output: '' }, /not the output of one process/],
  ['it ran twice', { runs: 2 }, /after 2 runs/],
  ['it failed', { exitCode: 1 }, /ended with 1/],
  ['the cloud is out of reach', { reaches: { cloud: false, apiServer: false } }, /does not reach the cloud/],
  ['no policy holds', { reaches: { cloud: true, apiServer: true } }, /no NetworkPolicy holds/],
])('demand throws when %s', (_, wrong, words) => {
  expect(() => demand({ ...shown, ...wrong })).toThrow(words)
})
