import { describe, expect, it } from 'vitest'
import { LeaseLost } from '../leases/leases.ts'
import type { NewEvent } from '../store/records.ts'
import { noTracing } from '../telemetry/tracing.ts'
import { removalSteps } from './removal.ts'
import type { Step } from './steps.ts'
import { makeRun, places, settled } from './testing/run.ts'

const step = (name: string): Step => ({ name, kind: 'act', progress: 0, run: async () => 'nothing' })
const never = new AbortController().signal

describe('OwnedHost', () => {
  it('takes all slots for an act that may have killed its owner, and one for the next', async () => {
    const { host, room } = makeRun({ attempts: 2 })
    await host.takeTurn(step('a'), never)
    expect(room.free).toBe(0)
    await host.commit(step('a'), { events: [] }, step('b'))
    await host.takeTurn(step('a'), never)
    expect(room.free).toBe(places - 1)
    await host.takeTurn({ ...step('b'), kind: 'wait' }, never)
    expect(room.free).toBe(places)
  })

  it('keeps its slots for a wait that has nothing to wait for, and frees them when it has', async () => {
    const { host, room, owned } = makeRun({})
    const [, podGone] = removalSteps('clear.', 'olderOps', 0, 4)
    await host.takeTurn(podGone!, never)
    expect(room.free).toBe(places - 1)
    owned.work.known.podUid = 'p'
    await host.takeTurn(podGone!, never)
    expect(room.free).toBe(places)
  })

  it('does not count an attempt for an act that is queued to run alone', async () => {
    const { host, room, written } = makeRun({ attempts: 2 })
    room.tryEnter()
    const alone = host.takeTurn(step('a'), never)
    await settled()
    expect(written.map(({ fields }) => fields)).toEqual([{ acting: false, attempts: 2 }])
    room.leave(1)
    await alone
    expect(room.free).toBe(0)
    expect(written.at(-1)).toMatchObject({ fields: { acting: true, attempts: 2 } })
  })

  it('counts an act whose wait for slots was aborted, since the release subtracts it', async () => {
    const { host, room, written } = makeRun({ attempts: 2 })
    room.tryEnter()
    const turnedAway = new AbortController()
    const alone = host.takeTurn(step('a'), turnedAway.signal)
    await settled()
    turnedAway.abort(new Error('handed over'))
    await expect(alone).rejects.toThrow('handed over')
    expect(written.map(({ fields }) => fields.acting)).toEqual([false, true])
  })

  it('runs an act alone whose former owner died in the queue, and counts it when it begins', async () => {
    const { host, room, written } = makeRun({ attempts: 3, acting: false })
    await host.takeTurn(step('a'), never)
    expect(room.free).toBe(0)
    expect(written.map(({ fields }) => fields)).toEqual([{ acting: true, attempts: 3 }])
  })

  it('counts an attempt for a next act, and none for a wait', async () => {
    const { host, written } = makeRun({})
    await host.commit(step('a'), { events: [] }, step('b'))
    await host.commit(step('a'), { events: [] }, { ...step('b'), kind: 'wait' })
    expect(written.map(({ fields }) => [fields.acting, fields.attempts])).toEqual([
      [true, 1],
      [false, 0],
    ])
  })

  it('lets a request check the lease once more when it leaves', async () => {
    const { host, lost } = makeRun({})
    const { check } = host.context(step('a'), never, noTracing.request(undefined)).call()
    check()
    lost.abort(new LeaseLost('overdue'))
    expect(check).toThrow(LeaseLost)
  })

  it('writes no event again that a former owner wrote', async () => {
    const stopping: NewEvent = ['info', 'Stopping the lab']
    const { run, host, written } = makeRun({ claims: 2 }, {}, [stopping])
    const ended = run.run()
    await settled()
    await host.commit(step('a'), { events: [stopping, ['info', 'new']] }, step('b'))
    expect(written.at(-1)!.events).toEqual([['info', 'new']])
    run.handOver()
    await ended
  })
})
