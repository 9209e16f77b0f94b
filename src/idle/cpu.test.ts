import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { keepingLog } from '../../test/kit/log.ts'
import { RetryLater } from '../base/errors.ts'
import type { RequestOptions } from '../kube/call-options.ts'
import { KubeError } from '../kube/client.ts'
import type { Usage } from '../store/usage.ts'
import { cpuDuty } from './cpu.ts'
import { ruleWith, startMs } from './testing/history.ts'
import type { WorkloadFacts } from './workloads/workload.ts'

const rules = [
  ruleWith({ name: 'plain' }),
  ruleWith({ name: 'jobs', sources: ['kernels', 'cpu'], cpu: { millicores: 200 } }),
]
const item = (name: string, cpu: string, timestamp = new Date(startMs).toISOString()) => ({
  metadata: { namespace: `labs-${name}`, name: `nb-${name}` },
  ...{ timestamp, window: '15s', containers: [{ name: 'notebook', usage: { cpu } }] },
})

/** A lease that only one has. */
function lease() {
  let holder = ''
  return (name: string) => ({
    acquireTask: async () => {
      if (holder !== '' && holder !== name) return null
      holder = name
      return {
        token: name,
        release: async () => {
          holder = ''
        },
      }
    },
  })
}

function world(answer: (query: RequestOptions['query']) => unknown) {
  const clock = new ManualClock({ nowMs: startMs })
  const log = keepingLog()
  const asked: RequestOptions[] = []
  const judged: { readonly usages: readonly Usage[]; readonly limits: object }[] = []
  const results: string[] = []
  const state = { silenceMs: 0 }
  const leases = lease()
  const ofPod = (namespace: string, pod: string): WorkloadFacts | undefined => {
    const id = namespace.slice('labs-'.length)
    if (pod !== `nb-${id}` || id === 'unseen') return undefined
    return { kind: 'lab', id, podUid: `pod-of-${id}`, mayBeAsked: true, startedMs: startMs - 60_000, stamps: {} }
  }
  const start = (name = 'one') => {
    const duty = cpuDuty({
      ...{ rules, periodSeconds: 60, clock, log, lease: 'lease-of-cpu', leases: leases(name) },
      kube: {
        request: async (_method, path, _body, options) => {
          asked.push(options!)
          expect(path).toBe('/apis/metrics.k8s.io/v1beta1/pods')
          return answer(options!.query)
        },
      },
      store: {
        judge: async (_kind, usages, limits) => {
          judged.push({ usages, limits })
          return { judged: usages.length, busy: 0 }
        },
      },
      pods: { kind: 'lab', labelSelector: 'of=us', silenceMs: () => state.silenceMs, ofPod },
      onList: result => results.push(result),
    })
    onTestFinished(() => duty.stop())
    duty.start()
    return duty
  }
  return { clock, log, asked, judged, results, state, start }
}

describe('cpuDuty', () => {
  it('lists all pods at once in each period, in pages, and judges those that the watches show', async () => {
    const pages: Record<string, object> = {
      '': { items: [item('ada', '250m'), item('unseen', '1')], metadata: { continue: 'more' } },
      more: { items: [item('bob', '1m'), 'nonsense', item('ada', '20m')], metadata: {} },
    }
    const { clock, asked, judged, results, start } = world(query => pages[String(query?.continue ?? '')])
    start()
    await clock.whenSleeping(60_000)
    expect(asked.map(({ query }) => query)).toMatchObject([
      { labelSelector: 'of=us', limit: 500, continue: undefined },
      { labelSelector: 'of=us', limit: 500, continue: 'more' },
    ])
    expect(judged).toEqual([
      {
        usages: [
          { id: 'ada', podUid: 'pod-of-ada', millicores: 250, agoMs: 0 },
          { id: 'bob', podUid: 'pod-of-bob', millicores: 1, agoMs: 0 },
        ],
        limits: { jobs: 200 },
      },
    ])
    clock.advance(60_000)
    await clock.whenSleeping(60_000)
    expect([asked.length, results]).toEqual([4, ['done', 'done']])
  })

  it('lists once for all replicas', async () => {
    const { clock, asked, start } = world(() => ({ items: [] }))
    start('one')
    await clock.whenSleeping(60_000)
    start('two')
    await clock.whenSleeping(15_000)
    for (let passed = 0; passed < 59_000; passed += 1000) clock.advance(1000)
    expect(asked).toHaveLength(1)
  })

  it('leaves out figures that are old, and says how old others are', async () => {
    const old = (ms: number) => new Date(startMs - ms).toISOString()
    const { clock, judged, start } = world(() => ({
      items: [item('ada', '1', old(30_000)), item('bob', '1', old(60_001)), item('eve', '1', old(-60_001))],
    }))
    start()
    await clock.whenSleeping(60_000)
    expect(judged[0]?.usages).toEqual([{ id: 'ada', podUid: 'pod-of-ada', millicores: 1000, agoMs: 30_000 }])
  })

  it('notes nothing of a list that has failed on its way', async () => {
    const { clock, judged, results, log, start } = world(query => {
      if (query?.continue) throw new RetryLater('Kubernetes does not answer for now: 503')
      return { items: [item('ada', '1')], metadata: { continue: 'more' } }
    })
    start()
    await clock.whenSleeping(30_000)
    expect([judged, results]).toEqual([[], ['failed']])
    expect(log.messages).toEqual(['warn: nobody knows what pods use of processors'])
  })

  it.each([
    ['refused', () => Promise.reject(new KubeError(403, 'Forbidden', 'no right'))],
    ['absent', () => Promise.reject(new KubeError(404, '', '404 page not found'))],
    ['endless', () => ({ metadata: { continue: 'again' } })],
  ])('warns once, and tries again, when the API is %s', async (_, answer) => {
    const { clock, judged, results, log, start } = world(answer)
    start()
    await clock.whenSleeping(30_000)
    clock.advance(30_000)
    await clock.whenSleeping(30_000)
    expect([judged, results]).toEqual([[], ['failed', 'failed']])
    expect(log.messages).toEqual(['warn: nobody knows what pods use of processors'])
  })

  it('asks nothing while the watches are silent', async () => {
    const { clock, asked, state, start } = world(() => ({ items: [] }))
    state.silenceMs = 10_000
    start()
    await clock.whenSleeping(15_000)
    expect(asked).toEqual([])
    state.silenceMs = 0
    clock.advance(15_000)
    await clock.whenSleeping(60_000)
    expect(asked).toHaveLength(1)
  })
})
