/** The table at the head of run.ts, one case for each row. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Fenced, LetGo, NeedsSomeone, RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { LeaseLost } from '../leases/leases.ts'
import { StartOver } from './steps.ts'
import { makeRun, settled } from './testing/run.ts'

const head = readFileSync(new URL('run.ts', import.meta.url), 'utf8').split('\n */')[0]!
const rows = [...head.matchAll(/^ \* \| ([\w ]+) \| .+ \| (?:[\w.]+) \|$/gm)].map(([, error]) => error!)

/** A deletion whose request to remove the namespace throws these errors in turn, and then succeeds. */
function deletionThatMeets(...errors: readonly Error[]) {
  const made = makeRun({})
  const { kube } = made.cluster
  const remove = kube.delete.bind(kube)
  const left = [...errors]
  kube.delete = async (...args) => {
    made.cluster.requests.push('asked')
    const error = left.shift()
    if (error) throw error
    return remove(...args)
  }
  return made
}

/** The result of a run: the operation's end, if any, whether the lease was released, and how it was counted. */
async function cameOf({ written, calls, leases, lines }: ReturnType<typeof makeRun>) {
  const last = written.at(-1)
  return {
    outcome: last?.outcome,
    ...(last?.outcome === 'failed' && { remains: last.fields.remains }),
    released: calls.includes('release'),
    counted: await leases(),
    defect: lines.some(({ level }) => level === 'error'),
  }
}

const goesOn = { outcome: 'gone', released: false, counted: {}, defect: false }
const endsFailed = { outcome: 'failed', remains: undefined, released: false, counted: {}, defect: false }
/** A refusal by the cluster: other replicas remove objects that may remain. */
const isRefused = { ...endsFailed, remains: 7 }
const stops = { outcome: undefined, released: true, counted: {}, defect: false }

const cases: Readonly<Record<string, () => Promise<void>>> = {
  StartOver: async () => {
    const made = deletionThatMeets(new StartOver('otherwise'))
    const over = made.run.run()
    // Without a pause, since the clock does not move.
    await settled()
    expect(made.cluster.requests.filter(request => request === 'asked')).toHaveLength(2)
    await made.vanish()
    await over
    expect(await cameOf(made)).toEqual(goesOn)
  },
  RetryLater: async () => {
    const made = deletionThatMeets(new RetryLater('busy'))
    const over = made.run.run()
    made.clock.advance(await made.clock.sleepBetween(200, 200))
    await settled()
    await made.vanish()
    await over
    expect(await cameOf(made)).toEqual(goesOn)
  },
  KubeError: async () => {
    const final = deletionThatMeets(new KubeError(422, 'Invalid', 'no'))
    await final.run.run()
    expect(await cameOf(final)).toEqual(isRefused)
    const refused = makeRun({})
    refused.refuse()
    expect(await refused.pass(refused.run.run(), 60_000)).toBeGreaterThan(10_000)
    expect(await cameOf(refused)).toEqual(isRefused)
  },
  DeadlinePassed: async () => {
    const made = makeRun({ kind: 'create', status: 'pending', failing: 'no', step: 'clean.pod', attempts: 1 })
    made.refuse(new RetryLater('away'))
    expect(await made.pass(made.run.run(), 120_000)).toBeGreaterThanOrEqual(60_000)
    expect(await cameOf(made)).toEqual({ ...endsFailed, remains: 7 })
  },
  NeedsSomeone: async () => {
    const made = deletionThatMeets(new NeedsSomeone('a finalizer stands in the way'))
    await made.run.run()
    expect(await cameOf(made)).toEqual(endsFailed)
    expect(made.written.at(-1)!.events[0]).toEqual(['error', 'a finalizer stands in the way'])
  },
  HandOver: async () => {
    const made = makeRun({})
    const over = made.run.run()
    await settled()
    made.run.handOver()
    await over
    expect(await cameOf(made)).toEqual(stops)
  },
  LetGo: async () => {
    const made = deletionThatMeets(new LetGo('another claim helps'))
    await made.run.run()
    expect(await cameOf(made)).toEqual(stops)
  },
  LeaseLost: async () => {
    const made = makeRun({})
    const over = made.run.run()
    await settled()
    made.lost.abort(new LeaseLost('nobody could extend it'))
    await over
    expect(await cameOf(made)).toEqual({ ...stops, counted: { lost: 1 } })
  },
  Fenced: async () => {
    const made = deletionThatMeets(new Fenced('the operation has moved on'))
    await made.run.run()
    expect(await cameOf(made)).toEqual({ ...stops, counted: { fenced: 1 } })
  },
  'any other': async () => {
    const made = deletionThatMeets(new TypeError('a bug'))
    await made.run.run()
    expect(await cameOf(made)).toEqual({ ...stops, released: false, defect: true })
  },
}

describe('OperationRun, on an error,', () => {
  it('has a case for each row of the table, and no other', () => {
    expect(rows.filter(row => row !== 'error')).toEqual(Object.keys(cases))
  })

  it.each(Object.entries(cases))('%s', (_, check) => check())
})
