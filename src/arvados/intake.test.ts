import { expect, it, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import type { ContainerStore } from '../store/dispatch/containers.ts'
import type { MirrorStore } from '../store/dispatch/mirror.ts'
import { silentLogger } from '../telemetry/log.ts'
import type { Listed } from './answers.ts'
import { Intake } from './intake.ts'
import type { Knowledge } from './knowledge.ts'

const uuid = 'zzzzz-dz642-000000000000000'
const stranger: Listed = { uuid, state: 'Locked', priority: 5, rank: 5, mine: true }
const record = { uuid, state: 'Locked', command: ['true'], container_image: 'x', runtime_constraints: {} }

/** One container that our token has locked, and that nobody here knows of. */
function intakeOf(staleLockMs = 60_000) {
  const clock = new ManualClock()
  const records: object[] = []
  const mirror = vi.fn<MirrorStore['mirror']>(async () => ({ answer: 'full' }))
  const settle = vi.fn<MirrorStore['settle']>(async () => true)
  const get = vi.fn(async () => record)
  const list = async () => ({ containers: records, next: undefined })
  const intake = new Intake({
    ...{ clock, staleLockMs, log: silentLogger(), owner: 'arvados:x', mostWaiting: 100, unsupported: 'cancel' },
    store: { mirror, settle },
    containers: { list: list as unknown as ContainerStore['list'] },
    client: { get, act: async () => stranger, update: async () => stranger },
    knowledge: { all: [stranger] } as unknown as Knowledge,
    translate: () => ({ view: {}, shape: {}, priority: 5, sealSpec: () => '' }) as never,
    failpoint: () => {},
    onMirrored: () => {},
  })
  const calls = { attempt: async () => false, tried: <T>(call: () => Promise<T>) => call(), paused: () => false }
  const reading = { mirrored: [], unasked: 0, nowMs: 0 }
  const round = () => intake.round('token', reading, calls, new AbortController().signal)
  return { intake, clock, records, mirror, settle, get, round }
}

it('Intake adopts no container when its record came after the container was first seen', async () => {
  const { clock, records, mirror, settle, round } = intakeOf()
  await round()
  clock.advance(60_000)
  records.push({ view: { uuid: 'ours', arvados_uuid: uuid }, state: 'Running', startedMs: 1 })
  await round()
  expect(mirror).not.toHaveBeenCalled()
  expect(settle.mock.calls).toEqual([['token', uuid, 'ours', 'found']])
})

it.each([
  [60_000, 60_000],
  [0, 1_000],
])('Intake rests between two tries of an adoption when StaleLockTimeout is %i ms', async (staleMs, restMs) => {
  const { intake, clock, get, round } = intakeOf(staleMs)
  await round()
  clock.advance(staleMs)
  for (let i = 0; i < 5; i += 1) await round()
  expect([get.mock.calls.length, intake.dueInMs()]).toEqual([1, restMs])
  clock.advance(restMs)
  await round()
  expect(get).toHaveBeenCalledTimes(2)
})
