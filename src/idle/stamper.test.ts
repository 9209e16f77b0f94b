import { afterEach, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { keepingLog } from '../../test/kit/log.ts'
import { RetryLater } from '../base/errors.ts'
import { Stamper } from './stamper.ts'
import type { StampPatch, Stamps, WorkloadFacts } from './workloads/workload.ts'

const factsOf = (id: string, podUid = 'pod'): WorkloadFacts => ({
  ...{ kind: 'lab', id, podUid, mayBeAsked: true, startedMs: undefined, stamps: {} },
})

let stamper: Stamper

afterEach(() => stamper.stop())

function start(
  perSecond: number,
  write: (id: string) => Promise<void> = async () => {},
  facts: (id: string) => WorkloadFacts | undefined = factsOf,
) {
  const clock = new ManualClock()
  const log = keepingLog()
  const written: [id: string, patch: StampPatch][] = []
  const stamp = async ({ id }: WorkloadFacts, patch: StampPatch) => {
    written.push([id, patch])
    await write(id)
  }
  stamper = new Stamper({ owners: [{ kind: 'lab', stamp, facts }], perSecond, clock, log })
  stamper.start()
  const settle = async () => {
    for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
  }
  return { clock, log, written, settle }
}

it('Stamper writes so many in a second, and lets the others wait', async () => {
  const { clock, written, settle } = start(5)
  for (let count = 0; count < 12; count++) stamper.write(factsOf(`w${count}`), { a: '1' })
  await settle()
  expect([written.length, stamper.waiting]).toEqual([5, 7])
  for (let passed = 0; passed < 1000; passed += 50) {
    clock.advance(50)
    await settle()
  }
  expect([written.length, stamper.waiting]).toEqual([10, 2])
})

it('Stamper lets namespaces take turns, so that one with very many notebooks delays no other', async () => {
  const { clock, written, settle } = start(2)
  for (let count = 0; count < 1000; count++) stamper.write(factsOf(`flood/n${count}`), { a: '1' })
  for (const id of ['b/one', 'b/two', 'c/one']) stamper.write(factsOf(id), { a: '1' })
  for (let count = 0; count < 3; count++) {
    await settle()
    clock.advance(1000)
  }
  expect(written.map(([id]) => id)).toEqual(['flood/n0', 'b/one', 'c/one', 'flood/n1', 'b/two', 'flood/n2'])
})

it('Stamper writes what waits for one workload together, and nothing of its former pod', async () => {
  const { clock, written, settle } = start(1)
  stamper.write(factsOf('first'), { a: '0' })
  await settle()
  stamper.write(factsOf('same'), { a: '1', b: '1' })
  stamper.write(factsOf('same'), { a: '2' })
  stamper.write(factsOf('moved', 'old'), { b: '1' })
  stamper.write(factsOf('moved', 'new'), { a: '3' })
  for (let count = 0; count < 3; count++) {
    clock.advance(1000)
    await settle()
  }
  expect(written.slice(1)).toEqual([
    ['same', { a: '2', b: '1' }],
    ['moved', { a: '3' }],
  ])
})

it('Stamper drops what is no more due when its turn has come, and takes no place for it', async () => {
  const now = new Map<string, WorkloadFacts>()
  const facts = (id: string) => now.get(id)
  const { clock, written, settle } = start(1, undefined, facts)
  const isDue = ({ checked }: Stamps) => checked === undefined
  const ids = ['first', 'stamped', 'next pod', 'waits for two', 'not stamped']
  for (const id of ids) stamper.write(factsOf(id), { a: '1' }, isDue)
  stamper.write(factsOf('waits for two'), { b: '1' }, () => true)
  await settle()
  const stamps = { checked: 'by another' }
  for (const id of ids) now.set(id, { ...factsOf(id, id === 'next pod' ? 'another' : 'pod'), stamps })
  now.set('not stamped', factsOf('not stamped'))
  for (let count = 0; count < 3; count++) {
    clock.advance(1000)
    await settle()
  }
  expect(written.map(([id]) => id)).toEqual(['first', 'next pod', 'waits for two', 'not stamped'])
})

it('Stamper goes on, and logs it, when a write fails', async () => {
  const { log, written, settle } = start(10, async id => {
    if (id === 'bad') throw new RetryLater('the API server does not answer')
  })
  stamper.write(factsOf('bad'), { a: '1' })
  stamper.write(factsOf('good'), { a: '1' })
  await settle()
  expect(written.map(([id]) => id)).toEqual(['bad', 'good'])
  expect(log.messages).toEqual([
    'warn: annotations of workloads cannot be written',
    'info: annotations are written again',
  ])
})
