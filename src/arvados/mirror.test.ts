import { expect, it, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { RetryLater, unavailable } from '../base/errors.ts'
import type { Mirrored, Ours } from '../dispatch/mirrored.ts'
import { FakeLeases } from '../reconcile/testing/samples.ts'
import type { ContainerStore } from '../store/dispatch/containers.ts'
import { silentLogger } from '../telemetry/log.ts'
import type { Listed } from './answers.ts'
import { ArvadosError, type ListQuery } from './client.ts'
import { Mirror, type MirrorOptions } from './mirror.ts'

const uuidOf = (n: number) => `zzzzz-dz642-${String(n).padStart(15, '0')}`
const ours = (more: Partial<Ours>): Ours => ({
  ...{ waits: true, state: 'Queued', priority: 1, attempts: 0, startedMs: 0, finishedMs: 0, exitCode: undefined },
  ...{ trouble: '', pricePerHour: 0, cancelling: false, ...more },
})
const mirrored = (n: number, more: Partial<Ours>): Mirrored => ({
  ...{ theirs: uuidOf(n), uuid: `o${n}`, back: false, ours: ours(more) },
})
const listed = (n: number): Listed => ({ uuid: uuidOf(n), state: 'Locked', priority: 5, rank: 5, mine: true })

function mirrorOf(mirrored: readonly Mirrored[], pages: Listed[][], more: Partial<MirrorOptions>) {
  const clock = new ManualClock()
  const list = async ({ order, filters }: ListQuery) => {
    const isMine = order === 'uuid' && filters[0]![1] === '='
    return { items: isMine ? (pages.shift() ?? []) : filters[0]![1] === 'in' ? [listed(2)] : [], bad: 0 }
  }
  const update = vi.fn(async (_: string): Promise<Listed> => listed(2))
  const check = vi.fn(async (_: string) => {})
  const act = vi.fn(async (): Promise<Listed> => listed(1))
  const mirror = new Mirror({
    ...{ clock, log: silentLogger(), leases: new FakeLeases() as never, lease: 'lease' },
    store: {
      read: async () => ({ mirrored, unasked: 1, nowMs: 1 }),
      ...{ check, mirror: vi.fn(), settle: vi.fn(), noteOverload: vi.fn() },
    },
    containers: { change: vi.fn(), list: vi.fn() } as unknown as ContainerStore,
    client: { current: async () => 'token', list, get: vi.fn(), act, update },
    ...{ pollMs: 10_000, scanMs: 10_000, staleLockMs: 60_000, mostListed: 1_000, mostWaiting: 100 },
    ...{ owner: 'arvados:x', unsupported: 'cancel', translate: vi.fn() },
    ...{ failpoint: () => {}, onMirrored: vi.fn(), onBad: vi.fn(), onRound: vi.fn(), onChanged: vi.fn(), ...more },
  })
  return { mirror, clock, update, act, check }
}

const runs = mirrored(2, { waits: false, state: 'Running', priority: 5, startedMs: 1 })

it('Mirror tells Arvados of other containers when one cannot be changed yet, and tells no numbers when it ends', async () => {
  const [onChanged, onRound] = [vi.fn(), vi.fn()]
  const change = async () => Promise.reject(unavailable('machines were not asked yet'))
  const containers = { change, list: vi.fn() } as unknown as ContainerStore
  const pages = [[listed(1), listed(2)]]
  const { mirror, clock, update } = mirrorOf([mirrored(1, {}), runs], pages, { onChanged, onRound, containers })
  mirror.start()
  await clock.sleepBetween(0, 10_000)
  expect(update.mock.calls[0]![0]).toBe(uuidOf(2))
  expect(onChanged).not.toHaveBeenCalled()
  await mirror.stop()
  expect(onRound.mock.calls).toEqual([[{ mirrored: 2, owed: 0 }], [{ mirrored: 0, owed: 0 }]])
})

it('Mirror tries a change once in each poll when Arvados lists the container and does not know it', async () => {
  const onRound = vi.fn()
  const { mirror, clock, update } = mirrorOf([runs], [[listed(2)]], { onRound, pollMs: 3_600_000 })
  update.mockRejectedValue(new ArvadosError('gone', 'update: 404'))
  mirror.start()
  for (let i = 0; i < 5; i += 1) {
    await clock.sleepBetween(0, 3_600_000)
    mirror.hear({ missed: true } as never)
    clock.advance(1_000)
  }
  await clock.sleepBetween(0, 3_600_000)
  expect(onRound.mock.calls.length).toBeGreaterThan(4)
  expect(update).toHaveBeenCalledTimes(1)
  await mirror.stop()
})

const lost = new RetryLater('another replica mirrors Arvados now')

it('Mirror unlocks no container when it lost the lease during the change before', async () => {
  const onRound = vi.fn()
  const owed = [runs, { ...mirrored(1, {}), back: true }]
  const { mirror, clock, update, act, check } = mirrorOf(owed, [[listed(1), listed(2)]], { onRound })
  update.mockImplementation(async () => {
    check.mockRejectedValue(lost)
    return listed(2)
  })
  mirror.start()
  await clock.sleepBetween(0, 10_000)
  expect(onRound).toHaveBeenLastCalledWith({ mirrored: 0, owed: 0 })
  expect(update).toHaveBeenCalledTimes(1)
  expect(act).not.toHaveBeenCalled()
  await mirror.stop()
})

it('Mirror changes no container here when it lost the lease after it read', async () => {
  const onRound = vi.fn()
  const containers = { change: vi.fn(), list: vi.fn() } as unknown as ContainerStore
  const { mirror, clock, check } = mirrorOf([mirrored(1, {})], [[listed(1)]], { containers, onRound })
  check.mockRejectedValue(lost)
  mirror.start()
  await clock.sleepBetween(0, 10_000)
  expect(onRound).toHaveBeenLastCalledWith({ mirrored: 0, owed: 0 })
  expect(containers.change).not.toHaveBeenCalled()
  await mirror.stop()
})
