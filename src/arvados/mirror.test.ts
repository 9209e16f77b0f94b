import { expect, it, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { unavailable } from '../base/errors.ts'
import type { Mirrored, Ours } from '../dispatch/mirrored.ts'
import { FakeLeases } from '../reconcile/testing/samples.ts'
import type { ContainerStore } from '../store/dispatch/containers.ts'
import { silentLogger } from '../telemetry/log.ts'
import type { Listed } from './answers.ts'
import type { ListQuery } from './client.ts'
import { Mirror } from './mirror.ts'

const uuidOf = (n: number) => `zzzzz-dz642-${String(n).padStart(15, '0')}`
const ours = (more: Partial<Ours>): Ours => ({
  ...{ waits: true, state: 'Queued', priority: 1, attempts: 0, startedMs: 0, finishedMs: 0, exitCode: undefined },
  ...{ trouble: '', pricePerHour: 0, cancelling: false, ...more },
})
const mirrored = (n: number, more: Partial<Ours>): Mirrored => ({
  ...{ theirs: uuidOf(n), uuid: `o${n}`, back: false, ours: ours(more) },
})
const listed = (n: number): Listed => ({ uuid: uuidOf(n), state: 'Locked', priority: 5, rank: 5, mine: true })

it('Mirror tells Arvados of other containers when one cannot be changed yet, and tells no numbers when it ends', async () => {
  const told = Promise.withResolvers<string>()
  const [changed, onRound] = [vi.fn(), vi.fn()]
  const pages = [[listed(1), listed(2)]]
  const list = async ({ order }: ListQuery) => ({ items: order === 'uuid' ? (pages.shift() ?? []) : [], bad: 0 })
  const update = async (uuid: string) => {
    told.resolve(uuid)
    return listed(2)
  }
  const reading = {
    mirrored: [mirrored(1, {}), mirrored(2, { waits: false, state: 'Running', priority: 5, startedMs: 1 })],
    ...{ unasked: 1, nowMs: 1 },
  }
  const change = async () => Promise.reject(unavailable('machines were not asked yet'))
  const mirror = new Mirror({
    ...{ clock: new ManualClock(), log: silentLogger(), leases: new FakeLeases() as never, lease: 'lease' },
    store: { read: async () => reading, mirror: vi.fn(), settle: vi.fn(), noteOverload: vi.fn() },
    containers: { change, list: vi.fn() } as unknown as ContainerStore,
    client: { current: async () => 'token', list, get: vi.fn(), act: vi.fn(), update },
    ...{ pollMs: 10_000, scanMs: 10_000, staleLockMs: 60_000, mostListed: 1_000, mostWaiting: 100 },
    ...{ owner: 'arvados:x', unsupported: 'cancel', translate: vi.fn() },
    ...{ failpoint: () => {}, onMirrored: vi.fn(), onBad: vi.fn(), onRound, onChanged: changed },
  })
  mirror.start()
  expect(await told.promise).toBe(uuidOf(2))
  expect(changed).not.toHaveBeenCalled()
  await mirror.stop()
  expect(onRound.mock.calls).toEqual([[{ mirrored: 2, owed: 0 }], [{ mirrored: 0, owed: 0 }]])
})
