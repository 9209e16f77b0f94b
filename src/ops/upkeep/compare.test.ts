import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { projectNamespace } from '../../kube/pods/project.ts'
import { NumberAhead } from '../../store/compares.ts'
import { silentLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import type { ClusterClient } from '../cluster.ts'
import { installation, redisMs, trust } from '../testing/cluster.ts'
import { Comparer, type ComparerOptions } from './compare.ts'
import { listedPod } from './listing.ts'

const known = { kind: 'compare', reason: 'the clock of Redis' } as const
const running = { record: { op: 7, active: false, status: 'running', podUid: 'p' }, tombstone: 0 }

/** A replica that compares. `doubt`: as in Redis; `users`: each with a running lab. */
function comparer({ doubt = null as typeof known | null, foundOp = 0, users = [] as string[] } = {}) {
  const state = { doubt, overtaken: false, compared: false, holder: '', release: undefined as Error | undefined }
  const clock = new ManualClock()
  const list = vi.fn(async (..._: Parameters<ClusterClient['list']>) => [])
  const begin = vi.fn(async () => ({ value: 'm', identity: 'i', needed: true, foundOp, nowMs: redisMs }))
  const end = vi.fn(async () => !state.overtaken)
  const error = vi.fn()
  const judgeGone = vi.fn(async (user: string) => {
    if (user === 'ada') throw new NumberAhead('ahead')
  })
  const options = {
    clock,
    trust,
    installation,
    namespacePrefix: 'nublado',
    log: { ...silentLogger(), error },
    metrics: createMetrics(new Registry()),
    store: {
      begin,
      end,
      users: async () => users,
      standing: async () => running,
      readDoubt: async () => state.doubt,
      doubt: async () => {
        state.doubt = known
      },
    },
    labs: { compared: async () => state.compared },
    leases: {
      acquireTask: async () => {
        if (state.holder) return null
        state.holder = 'us'
        const release = async () => {
          state.holder = ''
          if (state.release) throw state.release
        }
        return { token: 't', release }
      },
    },
    kube: { list },
    monitor: { judgeGone },
    debris: { isPodGone: async () => true },
    intervalMs: 600_000,
    holdMs: 1,
    pageMs: 1000,
    deleteTimeoutMs: 1,
    failedLabMs: 1,
    failpoint: () => {},
  } as unknown as ComparerOptions
  const replica = new Comparer(options)
  onTestFinished(() => replica.stop())
  replica.start()
  const overtake = () => {
    state.overtaken = true
  }
  return { clock, state, list, begin, end, error, judgeGone, overtake, replica }
}

/** Runs all pending work that waits for no timer. */
const settled = () => new Promise(resolve => setImmediate(resolve))

describe('Comparer', () => {
  it('waits three seconds between its compares while there is a doubt', async () => {
    const { clock, state, begin, overtake } = comparer({ doubt: known })
    overtake()
    await vi.waitUntil(() => begin.mock.calls.length === 1)
    expect(await clock.sleepBetween(2_500, 3_500)).toBe(3_000)
    state.doubt = null
  })

  it('compares again, after a wait, when it found the doubt itself', async () => {
    const { clock, begin } = comparer({ foundOp: Number.MAX_SAFE_INTEGER })
    expect(await clock.sleepBetween(2_500, 3_500)).toBe(3_000)
    expect(begin).toHaveBeenCalledTimes(1)
    clock.advance(3_000)
    await vi.waitUntil(() => begin.mock.calls.length === 2)
  })

  it('compares again, and logs an unexpected error, when the lease cannot be given back', async () => {
    const { clock, state, begin, error } = comparer()
    state.release = new Error('a defect')
    await vi.waitUntil(() => error.mock.calls.length === 1)
    expect(error.mock.calls[0]).toEqual([{ err: state.release }, 'a compare failed unexpectedly'])
    state.release = new RetryLater('Redis does not answer')
    await clock.sleepBetween(200, 300)
    clock.advance(250)
    await vi.waitUntil(() => begin.mock.calls.length === 2)
    state.release = undefined
    await clock.sleepBetween(200, 300)
    clock.advance(250)
    await vi.waitUntil(() => begin.mock.calls.length === 3)
    expect(error).toHaveBeenCalledTimes(1)
  })

  it('keeps only projections of the listed objects', async () => {
    const { end, list } = comparer()
    await vi.waitUntil(() => end.mock.calls.length > 0)
    expect(list.mock.calls.map(([, kind, project]) => [kind, project])).toEqual([
      ['Namespace', projectNamespace],
      ['Pod', listedPod],
    ])
  })

  it('gives its lists up when the next page does not come in time, however many came before', async () => {
    const { clock, state, end, list } = comparer()
    const asked = Promise.withResolvers<NonNullable<Parameters<ClusterClient['list']>[3]>>()
    list.mockImplementationOnce(async (_version, _kind, _project, options = {}) => {
      asked.resolve(options)
      return new Promise((_, reject) => {
        options.signal?.addEventListener('abort', () => reject(options.signal?.reason))
      })
    })
    const { signal, onPage } = await asked.promise
    for (const _page of [1, 2, 3]) {
      clock.advance(900)
      await settled()
      expect(signal?.aborted).toBe(false)
      onPage?.()
    }
    clock.advance(1000)
    await vi.waitUntil(() => state.holder === '')
    expect(signal?.reason).toEqual(new Error('no answer within 1000 ms'))
    expect(end).not.toHaveBeenCalled()
  })

  it('compares at the start and on the interval, and releases the lease in between', async () => {
    const { clock, state, begin } = comparer()
    const restMs = await clock.sleepBetween(540_000, 660_000)
    expect([begin.mock.calls.length, state.holder]).toEqual([1, ''])
    clock.advance(restMs)
    await vi.waitUntil(() => begin.mock.calls.length === 2)
  })

  it('accepts another replica’s compare when Redis needs one, but compares after its own finding', async () => {
    const { clock, state, begin, replica } = comparer()
    await clock.sleepBetween(540_000, 660_000)
    state.compared = true
    replica.wake(false)
    await settled()
    await clock.sleepBetween(540_000, 660_000)
    expect(begin).toHaveBeenCalledTimes(1)
    replica.wake(true)
    await vi.waitUntil(() => begin.mock.calls.length === 2)
  })

  it('compares later for its own finding when another replica has the lease', async () => {
    const { clock, state, begin, replica } = comparer()
    await clock.sleepBetween(540_000, 660_000)
    state.compared = true
    state.holder = 'another'
    replica.wake(true)
    await clock.sleepBetween(250, 250)
    expect(begin).toHaveBeenCalledTimes(1)
    state.holder = ''
    clock.advance(250)
    await vi.waitUntil(() => begin.mock.calls.length === 2)
  })

  it('settles all other users when the number of one is ahead', async () => {
    const { end, judgeGone } = comparer({ users: ['ada', 'grace'] })
    await vi.waitUntil(() => judgeGone.mock.calls.length > 1 && end.mock.calls.length > 0)
    expect(judgeGone.mock.calls.map(([user]) => user)).toEqual(['ada', 'grace'])
  })
})
