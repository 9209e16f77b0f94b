import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Fenced, RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { type Lease, LeaseLost } from '../leases/leases.ts'
import type { Claim } from '../store/owners.ts'
import { type LabRecord, type NewEvent, type RecordFields, readView } from '../store/records.ts'
import { createLogger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { noTracing } from '../telemetry/tracing.ts'
import { type Auditor, noAudit } from './audit.ts'
import { Room } from './room.ts'
import { OperationRun, type RunOptions } from './run.ts'
import type { Step } from './steps.ts'
import { FakeCluster, namespaceObject, podObject, redisMs, trust, user } from './testing/cluster.ts'

const places = 4
const withdrawn = new KubeError(403, 'Forbidden', 'namespaces is forbidden: User "s" cannot get resource "namespaces"')

const record = (more: Partial<LabRecord> = {}): LabRecord => ({
  ...{ op: 7, kind: 'delete', status: 'terminating', active: true, nonce: 'n', token: 't', claims: 1, attempts: 1 },
  acting: true,
  ...{ step: '', seq: 1, progress: 0, acceptedAtMs: 0, failedAtMs: 0, view: readView(undefined, user) },
  ...{ sealedPlan: undefined, namespaceUid: undefined, podUid: undefined, podPresent: false, failing: undefined },
  ...{ requestId: undefined, traceparent: undefined },
  ...more,
})

/** A run on a cluster with nothing but a namespace of its own; keeps what it writes. */
function makeRun(more: Partial<LabRecord>, claim: Partial<Claim> = {}, told: readonly NewEvent[] = []) {
  const cluster = new FakeCluster()
  cluster.real = { namespace: namespaceObject() }
  cluster.show()
  const clock = new ManualClock()
  const room = new Room(places)
  const written: { events: readonly NewEvent[]; fields: RecordFields; outcome?: string }[] = []
  const calls: string[] = []
  const owners = {
    commit: async (_: unknown, __: number, events: readonly NewEvent[], fields: RecordFields) => {
      written.push({ events, fields })
    },
    finish: async (_: unknown, __: number, events: readonly NewEvent[], outcome: string, fields: RecordFields) => {
      written.push({ events, fields, outcome })
    },
    release: async () => void calls.push('release'),
  }
  const events = async () => ({ found: true, events: told.map(([event, data]) => ({ event, data })) })
  const lost = new AbortController()
  const lease: Lease = { user, op: 7, token: 't', signal: lost.signal, check: () => lost.signal.throwIfAborted() }
  const metrics = createMetrics(new Registry())
  const ended: string[] = []
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLogger({ level: 'info', replica: 'r', destination })
  const audit = {
    ...noAudit,
    operation: (...[op, kind, result, by]: Parameters<Auditor['operation']>) =>
      void ended.push(`${op} ${kind} ${result} ${by}`),
  }
  const options = {
    ...{ owners, labs: { events }, sealer: {}, kube: cluster.kube, view: cluster.view, clock, trust, room },
    ...{ namespacePrefix: 'nublado', maxAttempts: 3, longestRequestMs: 1000, compare: () => {} },
    times: { spawnMs: 60_000, deleteMs: 60_000, noRoomMs: 1000, registryMs: 1000, unknownMs: 1000 },
    ...{ log, metrics, tracing: noTracing, audit },
  } as unknown as RunOptions
  room.tryEnter()
  const full: Claim = { record: record(more), remainingMs: 60_000, nowMs: redisMs, foundOp: 0, ...claim }
  const run = new OperationRun(options, full, lease, 1)
  /** The namespace goes, and is forgotten. */
  const vanish = async () => {
    const uid = cluster.real.namespace!.metadata.uid!
    cluster.real.namespace = undefined
    cluster.seen = {}
    cluster.change({ namespace: 'nublado-ada', goneUid: uid })
    await clock.sleepBetween(500, 500)
    clock.advance(500)
  }
  /** How often a lease came to each end. */
  const leases = async () => {
    const { values } = await metrics.leases.get()
    return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]))
  }
  /** Every request is refused from now on, with these words. */
  const refuse = (error: Error = withdrawn) => {
    const no = async () => {
      cluster.requests.push('refused')
      throw error
    }
    Object.assign(cluster.kube, { get: no, create: no, delete: no })
  }
  /** Time passes, for as long as the operation goes on. */
  const pass = async (over: Promise<void>, limitMs: number) => {
    let isOver = false
    void over.then(() => {
      isOver = true
    })
    const beganMs = clock.monotonicMs()
    while (!isOver && clock.monotonicMs() - beganMs < limitMs) {
      clock.advance(100)
      await settled()
    }
    return isOver ? clock.monotonicMs() - beganMs : 'it goes on'
  }
  return { ended, run, cluster, clock, room, written, calls, lost, owners, vanish, leases, lines, refuse, pass }
}

const settled = () => new Promise(resolve => setImmediate(resolve))
const step = (name: string): Step => ({ name, kind: 'act', progress: 0, run: async () => 'nothing' })
const never = new AbortController().signal

describe('OperationRun', () => {
  it('runs a deletion to its end: namespace, tombstone, a last event', async () => {
    const { run, cluster, written, vanish, room } = makeRun({})
    const ended = run.run()
    await settled()
    await vanish()
    await ended
    expect(cluster.requests.filter(request => request.startsWith('delete'))).toEqual([
      'delete Namespace uid-of-nublado-ada',
    ])
    expect(written.at(-1)).toMatchObject({
      outcome: 'gone',
      events: [
        ['progress', '100'],
        ['complete', expect.anything()],
      ],
    })
    expect(room.free).toBe(places)
    expect(cluster.listeners).toBe(0)
  })

  it.each([
    ['who asked for it', { by: '{"user":"ada"}' }, '7 delete succeeded {"user":"ada"}'],
    ['nobody where its record names none', {}, '7 delete succeeded '],
  ])('tells the audit log how the operation ended, and %s', async (_, more, line) => {
    const { run, ended, vanish } = makeRun(more)
    const over = run.run()
    await settled()
    expect(ended).toEqual([])
    await vanish()
    await over
    expect(ended).toEqual([line])
  })

  it('tells the audit log nothing of an end that another owner may write', async () => {
    const { run, ended, owners } = makeRun({ attempts: 4 })
    owners.finish = async () => {
      throw new Fenced('moved on')
    }
    await run.run()
    expect(ended).toEqual([])
  })

  it('tells nothing again that a former owner told', async () => {
    const stopping: NewEvent = ['info', 'Stopping the lab']
    const { run, written } = makeRun({ claims: 2 }, {}, [stopping])
    const ended = run.run()
    await settled()
    await run.commit(step('a'), { events: [stopping, ['info', 'new']] }, undefined)
    expect(written.at(-1)!.events).toEqual([['info', 'new']])
    run.handOver()
    await ended
  })

  it('ends a deletion that was given up, in words', async () => {
    const { run, written, cluster } = makeRun({ attempts: 4 })
    await run.run()
    expect(cluster.requests).toEqual([])
    expect(written).toHaveLength(1)
    const events = [
      ['error', expect.stringMatching(/given up after 3 attempts/)],
      ['failed', expect.stringMatching(/deletion failed/)],
    ]
    expect(written[0]).toMatchObject({ outcome: 'failed', events })
  })

  it('cleans up after a creation that was given up: those attempts were not the cleaning’s', async () => {
    const { run, cluster, written, vanish } = makeRun({ kind: 'create', status: 'pending', attempts: 4 })
    const ended = run.run()
    await settled()
    await settled()
    await vanish()
    await ended
    expect(cluster.requests).toContain('delete Namespace uid-of-nublado-ada')
    expect(written[0]).toMatchObject({
      fields: { failing: expect.stringMatching(/given up/), attempts: 1, acting: true },
    })
    expect(written.at(-1)).toMatchObject({ outcome: 'failed', fields: { podPresent: false } })
  })

  it('gives up cleaning that kills its owner, too', async () => {
    const failing = { kind: 'create', status: 'pending', failing: 'no', step: 'clean.pod', attempts: 4 } as const
    const { run, cluster, written } = makeRun(failing)
    await run.run()
    expect(cluster.requests).toEqual([])
    expect(written).toMatchObject([{ outcome: 'failed' }])
    expect(written[0]!.fields).not.toHaveProperty('podPresent')
  })

  it('ends complete, not failed, where its lab stands after all', async () => {
    const { run, cluster, written } = makeRun({ kind: 'create', status: 'pending', attempts: 4 })
    const pod = podObject()
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Namespace', name: 'nublado-ada', uid: 'uid-of-nublado-ada' }]
    const containerStatuses = [{ name: 'lab', started: true, ready: true, restartCount: 0, state: { running: {} } }]
    cluster.real.pod = {
      ...pod,
      metadata: { ...pod.metadata, ownerReferences },
      status: { phase: 'Running', containerStatuses },
    }
    await run.run()
    expect(written).toMatchObject([{ outcome: 'running', fields: { podUid: 'uid-of-nb-ada' } }])
    expect(cluster.requests.filter(request => !request.startsWith('get'))).toEqual([])
  })

  it('ends what is past its deadline', async () => {
    const { run, written } = makeRun({}, { remainingMs: -1 })
    await run.run()
    expect(written[0]).toMatchObject({ outcome: 'failed' })
    expect(written[0]!.events[0]![1]).toMatch(/longer than 60 seconds/)
  })

  describe('when the cluster refuses every request', () => {
    const lost = 'The plan of this creation is lost'
    const creation = { kind: 'create', status: 'pending', sealedPlan: undefined } as const

    it('ends a creation failed within seconds of its deadline, and says that objects may remain', async () => {
      const { run, written, refuse, pass, lines, cluster } = makeRun(creation, { remainingMs: -1 })
      refuse()
      expect(await pass(run.run(), 60_000)).toBeLessThanOrEqual(20_000)
      expect(written.at(-1)).toMatchObject({
        outcome: 'failed',
        events: [
          ['error', lost],
          ['info', expect.stringMatching(/^What is left of the lab is removed as soon as .*cannot get resource/)],
          ['failed', expect.anything()],
        ],
        fields: { remains: 7 },
      })
      // It backs off.
      expect(cluster.requests.length).toBeLessThan(10)
      const told = written.flatMap(({ events }) => events).filter(([, data]) => data.includes('tried again'))
      expect(told).toHaveLength(1)
      expect(lines).toMatchObject([
        {
          level: 'warn',
          msg: 'a step is refused',
          reason: withdrawn.message,
          remedy: expect.stringMatching(/rbac\.yaml/),
        },
        { level: 'info', msg: 'operation ended', reason: lost },
      ])
    })

    it('waits for an answer where the record may be an old one: the lab may have been told of', async () => {
      const { run, written, refuse, pass, room, lost: lose } = makeRun(creation, { remainingMs: -1, foundOp: 7 })
      refuse()
      const over = run.run()
      expect(await pass(over, 600_000)).toBe('it goes on')
      expect(room.free).toBe(places)
      expect(written.map(({ outcome }) => outcome)).toEqual([undefined])
      lose.abort(new LeaseLost('enough'))
      await over
    })

    it('ends a creation at its deadline, or a little later, where the API server is silent', async () => {
      const { run, written, refuse, pass } = makeRun({ ...creation, attempts: 4 }, { remainingMs: 30_000 })
      refuse(new RetryLater('away'))
      const tookMs = await pass(run.run(), 120_000)
      expect(tookMs).toBeGreaterThanOrEqual(30_000)
      expect(tookMs).toBeLessThan(31_000)
      expect(written.at(-1)).toMatchObject({ outcome: 'failed', fields: { remains: 7 } })
    })

    it('ends a creation whose cleaning is refused, and leaves the rest to others', async () => {
      const failing = { ...creation, failing: 'no', step: 'clean.pod', attempts: 1 }
      const { run, written, refuse, pass, lines } = makeRun(failing)
      refuse()
      expect(await pass(run.run(), 60_000)).toBeLessThanOrEqual(20_000)
      expect(written.at(-1)).toMatchObject({ outcome: 'failed', fields: { remains: 7 } })
      expect(lines.at(-1)).toMatchObject({ msg: 'operation ended', reason: 'no' })
    })

    it('ends a deletion, in words, and leaves the rest to others', async () => {
      const { run, written, refuse, pass, lines } = makeRun({})
      refuse()
      expect(await pass(run.run(), 120_000)).toBeLessThanOrEqual(20_000)
      expect(written.at(-1)).toMatchObject({ outcome: 'failed', fields: { remains: 7 } })
      expect(written.at(-1)!.events[0]).toEqual(['error', expect.stringMatching(/refused .*cannot get resource/)])
      expect(lines.at(-1)).toMatchObject({ msg: 'operation ended', reason: expect.stringMatching(/cannot get/) })
    })
  })

  it('takes the whole room for an act that may have killed its owner, and one place for the next', async () => {
    const { run, room } = makeRun({ attempts: 2 })
    await run.makeRoom('act', never)
    expect(room.free).toBe(0)
    await run.commit(step('a'), { events: [] }, step('b'))
    await run.makeRoom('act', never)
    expect(room.free).toBe(places - 1)
    await run.makeRoom('wait', never)
    expect(room.free).toBe(places)
  })

  it('that waits for its turn to be done alone has not begun, and is no attempt of who dies meanwhile', async () => {
    const { run, room, written } = makeRun({ attempts: 2 })
    room.tryEnter()
    const alone = run.makeRoom('act', never)
    await settled()
    expect(written.map(({ fields }) => fields)).toEqual([{ acting: false, attempts: 2 }])
    room.leave(1)
    await alone
    expect(room.free).toBe(0)
    expect(written.at(-1)).toMatchObject({ fields: { acting: true, attempts: 2 } })
  })

  it('that is turned away from the room was counted, so that letting go takes it back', async () => {
    const { run, room, written } = makeRun({ attempts: 2 })
    room.tryEnter()
    const turnedAway = new AbortController()
    const alone = run.makeRoom('act', turnedAway.signal)
    await settled()
    turnedAway.abort(new Error('handed over'))
    await expect(alone).rejects.toThrow('handed over')
    expect(written.map(({ fields }) => fields.acting)).toEqual([false, true])
  })

  it('whose former owner died in the queue is done alone, and counted when it begins', async () => {
    const { run, room, written } = makeRun({ attempts: 3, acting: false })
    await run.makeRoom('act', never)
    expect(room.free).toBe(0)
    expect(written.map(({ fields }) => fields)).toEqual([{ acting: true, attempts: 3 }])
  })

  it('counts an attempt for an act that comes next, and none for a wait', async () => {
    const { run, written } = makeRun({})
    await run.commit(step('a'), { events: [] }, step('b'))
    await run.commit(step('a'), { events: [] }, { ...step('b'), kind: 'wait' })
    expect(written.map(({ fields }) => [fields.acting, fields.attempts])).toEqual([
      [true, 1],
      [false, 0],
    ])
  })

  it('handed over it lets go, and ends nothing', async () => {
    const { run, written, calls, room } = makeRun({})
    const ended = run.run()
    await settled()
    run.handOver()
    await ended
    expect(calls).toEqual(['release'])
    expect(written.some(({ outcome }) => outcome !== undefined)).toBe(false)
    expect(room.free).toBe(places)
  })

  it('handed over before it has begun it does not begin', async () => {
    const { run, cluster, calls } = makeRun({})
    run.handOver()
    await run.run()
    expect(cluster.requests).toEqual([])
    expect(calls).toEqual(['release'])
  })

  it('stops when its lease is lost', async () => {
    const { run, calls, lost, written, leases } = makeRun({})
    const ended = run.run()
    await settled()
    lost.abort(new LeaseLost('lost'))
    await ended
    expect(await leases()).toEqual({ lost: 1 })
    expect(calls).toEqual(['release'])
    expect(written.some(({ outcome }) => outcome !== undefined)).toBe(false)
  })

  it('counts no lease as lost whose last extension crossed the end of its operation', async () => {
    const { run, owners, lost, vanish, leases, written } = makeRun({})
    const { finish } = owners
    owners.finish = async (...args) => {
      await finish(...args)
      lost.abort(new LeaseLost('another owns the operation'))
    }
    const ended = run.run()
    await settled()
    await vanish()
    await ended
    expect(written.at(-1)).toMatchObject({ outcome: 'gone' })
    expect(await leases()).toEqual({})
  })

  it('stops when a write is refused', async () => {
    const { run, calls, owners, leases } = makeRun({})
    owners.commit = async () => {
      throw new Fenced('moved on')
    }
    await run.run()
    expect(await leases()).toEqual({ fenced: 1 })
    expect(calls).toEqual(['release'])
  })

  it('writes again while Redis is away, for as long as the lease lasts', async () => {
    const { run, owners, clock, written, vanish } = makeRun({})
    const { commit } = owners
    let failures = 2
    owners.commit = async (...args) => {
      if (failures-- > 0) throw new RetryLater('away')
      return commit(...args)
    }
    const ended = run.run()
    for (let i = 0; i < 2; i++) {
      await clock.sleepBetween(100, 100)
      clock.advance(100)
      await settled()
    }
    await vanish()
    await ended
    expect(written.at(-1)).toMatchObject({ outcome: 'gone' })
  })

  it('after what nobody foresaw it leaves the lease to run out', async () => {
    const { run, calls, owners } = makeRun({})
    owners.commit = async () => {
      throw new TypeError('a bug')
    }
    await run.run()
    expect(calls).toEqual([])
  })
})
