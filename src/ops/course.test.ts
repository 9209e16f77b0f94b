import { describe, expect, it } from 'vitest'
import { Fenced, NeedsSomeone, RetryLater } from '../base/errors.ts'
import { LeaseLost } from '../leases/leases.ts'
import { DeadlinePassed } from './phase.ts'
import { podObject } from './testing/cluster.ts'
import { makeRun, places, settled, withdrawn } from './testing/run.ts'

describe('runCourse', () => {
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
        ['info', 'The namespace nublado-ada is gone'],
        ['progress', '100'],
        ['complete', expect.anything()],
      ],
    })
    expect(written).toHaveLength(2)
    expect(room.free).toBe(places)
    expect(cluster.listeners).toBe(0)
  })

  it('ends a deletion that was given up with a reason', async () => {
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

  it('cleans up after a creation that was given up, with attempts counted anew', async () => {
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

  it('gives up a clean-up that kills its owner', async () => {
    const failing = { kind: 'create', status: 'pending', failing: 'no', step: 'clean.pod', attempts: 4 } as const
    const { run, cluster, written } = makeRun(failing)
    await run.run()
    expect(cluster.requests).toEqual([])
    expect(written).toMatchObject([{ outcome: 'failed' }])
    expect(written[0]!.fields).not.toHaveProperty('podPresent')
  })

  it('ends complete, not failed, when its lab is complete after all', async () => {
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

  it('ends an operation that is past its deadline', async () => {
    const { run, written } = makeRun({}, { remainingMs: -1 })
    await run.run()
    expect(written[0]).toMatchObject({ outcome: 'failed' })
    expect(written[0]!.events[0]![1]).toMatch(/longer than 60 seconds/)
  })

  describe('when a creation is about to fail', () => {
    const creation = { kind: 'create', status: 'pending', attempts: 4 } as const

    it.each([
      ['its time for the question has passed', new DeadlinePassed('too long'), 'it does not answer'],
      ['nobody may ask', new NeedsSomeone('no right'), 'no right'],
      ['nobody hears the question', new RetryLater('no connection'), 'no connection'],
    ])('ends it failed, with what remains, when %s', async (_, error, reason) => {
      const { run, owned, written, lines } = makeRun(creation)
      owned.work.isComplete = () => Promise.reject(error)
      expect(await run.run()).toBe(true)
      expect(written).toMatchObject([{ outcome: 'failed', fields: { remains: 7 } }])
      expect(written[0]!.events[1]).toEqual(['info', expect.stringContaining(`(${reason})`)])
      expect(lines.filter(({ level }) => level === 'error')).toEqual([])
    })

    it('gives the lease back when it is fenced meanwhile', async () => {
      const { run, owned, written, calls } = makeRun(creation)
      owned.work.isComplete = () => Promise.reject(new Fenced('moved on'))
      expect(await run.run()).toBe(false)
      expect(written).toEqual([])
      expect(calls).toEqual(['release'])
    })
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
      const reported = written.flatMap(({ events }) => events).filter(([, data]) => data.includes('tried again'))
      expect(reported).toHaveLength(1)
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

    it('waits for an answer when the record may be old, since clients may know the lab', async () => {
      const { run, written, refuse, pass, room, lost: lose } = makeRun(creation, { remainingMs: -1, foundOp: 7 })
      refuse()
      const over = run.run()
      expect(await pass(over, 600_000)).toBe('it goes on')
      expect(room.free).toBe(places)
      expect(written.map(({ outcome }) => outcome)).toEqual([undefined])
      lose.abort(new LeaseLost('enough'))
      await over
    })

    it('ends a creation at its deadline, or a little later, when the API server is silent', async () => {
      const { run, written, refuse, pass } = makeRun({ ...creation, attempts: 4 }, { remainingMs: 30_000 })
      refuse(new RetryLater('away'))
      const tookMs = await pass(run.run(), 120_000)
      expect(tookMs).toBeGreaterThanOrEqual(30_000)
      expect(tookMs).toBeLessThan(31_000)
      expect(written.at(-1)).toMatchObject({ outcome: 'failed', fields: { remains: 7 } })
    })

    it('ends a creation whose clean-up is refused, and leaves the objects to other replicas', async () => {
      const failing = { ...creation, failing: 'no', step: 'clean.pod', attempts: 1 }
      const { run, written, refuse, pass, lines } = makeRun(failing)
      refuse()
      expect(await pass(run.run(), 60_000)).toBeLessThanOrEqual(20_000)
      expect(written.at(-1)).toMatchObject({ outcome: 'failed', fields: { remains: 7 } })
      expect(lines.at(-1)).toMatchObject({ msg: 'operation ended', reason: 'no' })
    })

    it('ends a deletion with a reason, and leaves the objects to other replicas', async () => {
      const { run, written, refuse, pass, lines } = makeRun({})
      refuse()
      expect(await pass(run.run(), 120_000)).toBeLessThanOrEqual(20_000)
      expect(written.at(-1)).toMatchObject({ outcome: 'failed', fields: { remains: 7 } })
      expect(written.at(-1)!.events[0]).toEqual(['error', expect.stringMatching(/refused .*cannot get resource/)])
      expect(lines.at(-1)).toMatchObject({ msg: 'operation ended', reason: expect.stringMatching(/cannot get/) })
    })
  })
})
