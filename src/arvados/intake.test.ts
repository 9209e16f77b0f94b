import { expect, it, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import type { Mirrored } from '../dispatch/mirrored.ts'
import type { ContainerStore } from '../store/dispatch/containers.ts'
import type { MirrorReading, MirrorStore } from '../store/dispatch/mirror.ts'
import { silentLogger } from '../telemetry/log.ts'
import type { Listed } from './answers.ts'
import { Intake, type IntakeOptions } from './intake.ts'
import type { Knowledge } from './knowledge.ts'

const uuid = 'zzzzz-dz642-000000000000000'
const stranger: Listed = { uuid, state: 'Locked', priority: 5, rank: 5, mine: true }
const record = { uuid, state: 'Locked', command: ['true'], container_image: 'x', runtime_constraints: {} }

/** One container that our token has locked, and that nobody here knows of. */
function intakeOf(staleLockMs = 60_000, more: Partial<IntakeOptions> = {}) {
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
    ...more,
  })
  const calls = { attempt: async () => false, tried: <T>(call: () => Promise<T>) => call(), paused: () => false }
  const reading: MirrorReading = { mirrored: [], unasked: 0, nowMs: 0 }
  const round = (mirrored: readonly Mirrored[] = []) =>
    intake.round('token', { ...reading, mirrored }, calls, new AbortController().signal)
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

it('Intake adopts no more than may wait here when Arvados says that our token has locked more', async () => {
  const { clock, get, round } = intakeOf()
  const waiting = { theirs: 'x', uuid: 'o', back: false, ours: { waits: true, priority: 5 } } as Mirrored
  const full = Array.from({ length: 200 }, () => waiting)
  await round(full)
  clock.advance(60_000)
  await round(full)
  expect(get).not.toHaveBeenCalled()
  clock.advance(60_000)
  await round(full.slice(1))
  expect(get).toHaveBeenCalledTimes(1)
})

it('Intake writes no long reason into the log when a user chose the name of a variable', async () => {
  const info = vi.fn()
  const waiting = { ...stranger, state: 'Queued', mine: false }
  const { round } = intakeOf(0, {
    log: { info } as unknown as IntakeOptions['log'],
    knowledge: { all: [waiting] } as unknown as Knowledge,
    translate: () => ({ why: 'x'.repeat(100_000) }),
  })
  await round()
  expect(info.mock.calls[0]![0].why).toHaveLength(1_000)
})
