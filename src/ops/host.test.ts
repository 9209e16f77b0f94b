import { describe, expect, it } from 'vitest'
import type { NewEvent } from '../store/records.ts'
import type { Step } from './steps.ts'
import { makeRun, places, settled } from './testing/run.ts'

const step = (name: string): Step => ({ name, kind: 'act', progress: 0, run: async () => 'nothing' })
const never = new AbortController().signal

describe('OwnedHost', () => {
  it('takes the whole room for an act that may have killed its owner, and one place for the next', async () => {
    const { host, room } = makeRun({ attempts: 2 })
    await host.makeRoom('act', never)
    expect(room.free).toBe(0)
    await host.commit(step('a'), { events: [] }, step('b'))
    await host.makeRoom('act', never)
    expect(room.free).toBe(places - 1)
    await host.makeRoom('wait', never)
    expect(room.free).toBe(places)
  })

  it('that waits for its turn to be done alone has not begun, and is no attempt of who dies meanwhile', async () => {
    const { host, room, written } = makeRun({ attempts: 2 })
    room.tryEnter()
    const alone = host.makeRoom('act', never)
    await settled()
    expect(written.map(({ fields }) => fields)).toEqual([{ acting: false, attempts: 2 }])
    room.leave(1)
    await alone
    expect(room.free).toBe(0)
    expect(written.at(-1)).toMatchObject({ fields: { acting: true, attempts: 2 } })
  })

  it('that is turned away from the room was counted, so that letting go takes it back', async () => {
    const { host, room, written } = makeRun({ attempts: 2 })
    room.tryEnter()
    const turnedAway = new AbortController()
    const alone = host.makeRoom('act', turnedAway.signal)
    await settled()
    turnedAway.abort(new Error('handed over'))
    await expect(alone).rejects.toThrow('handed over')
    expect(written.map(({ fields }) => fields.acting)).toEqual([false, true])
  })

  it('whose former owner died in the queue is done alone, and counted when it begins', async () => {
    const { host, room, written } = makeRun({ attempts: 3, acting: false })
    await host.makeRoom('act', never)
    expect(room.free).toBe(0)
    expect(written.map(({ fields }) => fields)).toEqual([{ acting: true, attempts: 3 }])
  })

  it('counts an attempt for an act that comes next, and none for a wait', async () => {
    const { host, written } = makeRun({})
    await host.commit(step('a'), { events: [] }, step('b'))
    await host.commit(step('a'), { events: [] }, { ...step('b'), kind: 'wait' })
    expect(written.map(({ fields }) => [fields.acting, fields.attempts])).toEqual([
      [true, 1],
      [false, 0],
    ])
  })

  it('tells nothing again that a former owner told', async () => {
    const stopping: NewEvent = ['info', 'Stopping the lab']
    const { run, host, written } = makeRun({ claims: 2 }, {}, [stopping])
    const ended = run.run()
    await settled()
    await host.commit(step('a'), { events: [stopping, ['info', 'new']] }, undefined)
    expect(written.at(-1)!.events).toEqual([['info', 'new']])
    run.handOver()
    await ended
  })
})
