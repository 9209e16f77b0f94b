import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { endProcesses } from './processes.ts'

/** No process has this id, so it gets no signal, as one of another user. */
const unreachable = { pid: 2 ** 22, parent: 1, birth: '1', mark: 'ours' as const }

test('endProcesses throws after ten seconds when a process gets no signal', async () => {
  const clock = new ManualClock({ passBelowMs: 100 })
  const ending = endProcesses('/nowhere', clock, () => ({ found: [unreachable], isUnsure: false }))
  await expect(ending).rejects.toThrow('1 processes of /nowhere do not end')
  expect(clock.monotonicMs()).toBe(11_010)
})

test('endProcesses looks again when a process was starting a program', async () => {
  const nothing = { found: [], isUnsure: false }
  const looks = [nothing, { found: [], isUnsure: true }, nothing, nothing, 'too many' as never]
  await endProcesses('/nowhere', undefined, () => looks.shift()!)
  expect(looks).toEqual(['too many'])
})

test('endProcesses ends a second later when strangers start programs at every look', async () => {
  const clock = new ManualClock({ passBelowMs: 100 })
  await endProcesses('/nowhere', clock, () => ({ found: [], isUnsure: true }))
  expect(clock.monotonicMs()).toBe(2_010)
})
