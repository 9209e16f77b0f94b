import { describe, expect, it } from 'vitest'
import type { Clock } from '../base/clock.ts'
import type { Actor, AuditEvent } from './audit.ts'
import { RefusalFlood, refusalRate } from './audit-flood.ts'

function flood() {
  const rings: (() => void)[] = []
  /** Time stands still until all sleepers are woken. */
  const clock: Clock = {
    wallMs: () => 0,
    monotonicMs: () => 0,
    sleep: () => new Promise(resolve => void rings.push(resolve)),
    after: (_ms, ring) => {
      rings.push(ring)
      return () => {}
    },
  }
  const written: AuditEvent[] = []
  const refusals = new RefusalFlood({ clock, audit: { write: event => written.push(event) > 0 } })
  const refuse = (actor: Actor, more: Partial<AuditEvent> = {}) =>
    refusals.write({
      ...{ action: 'lab.delete', result: 'refused', reason: 'unauthorized', actor },
      ...{ object: { kind: 'lab', user: 'victim' }, from: { address: '203.0.113.7' } },
      ...more,
    })
  const wake = () => {
    for (const ring of rings.splice(0)) ring()
  }
  return { wake, written, refusals, refuse }
}

const ada: Actor = { kind: 'user', name: 'ada' }
const nobody: Actor = { kind: 'anonymous' }
const settled = () => new Promise(resolve => setImmediate(resolve))

describe('RefusalFlood', () => {
  it('logs the first refusals one by one, and counts the others in one line', async () => {
    const { wake, written, refuse } = flood()
    for (let i = 0; i < 5000; i++) refuse(nobody)
    expect(written).toHaveLength(refusalRate.burst)
    wake()
    await settled()
    expect(written).toHaveLength(refusalRate.burst + 1)
    expect(written.at(-1)).toEqual({
      ...{ action: 'lab.delete', result: 'refused', reason: 'unauthorized', actor: nobody },
      ...{ object: { kind: 'lab' }, count: 5000 - refusalRate.burst },
    })
  })

  it('counts each actor’s refusals independently', () => {
    const { written, refuse } = flood()
    for (let i = 0; i < 1000; i++) refuse(nobody)
    refuse(ada)
    expect(written.at(-1)).toMatchObject({ actor: ada, object: { user: 'victim' } })
  })

  it('counts actors and reasons separately, and logs each count once', () => {
    const { written, refusals, refuse } = flood()
    for (let i = 0; i < 150; i++) {
      refuse(ada)
      refuse(ada, { reason: 'too_often' })
      refuse(nobody)
    }
    refusals.flush()
    const counted = written.filter(({ count }) => count !== undefined)
    expect(counted.map(({ actor, reason }) => [actor.name, reason])).toEqual(
      expect.arrayContaining([
        ['ada', 'unauthorized'],
        ['ada', 'too_often'],
        [undefined, 'unauthorized'],
      ]),
    )
    const events = written.reduce((sum, { count = 1 }) => sum + count, 0)
    expect(events).toBe(450)
    refusals.flush()
    expect(written.filter(({ count }) => count !== undefined)).toHaveLength(3)
  })

  it('keeps a limited number of kinds, and loses none of their count', () => {
    const { written, refusals, refuse } = flood()
    const users = 1010
    for (let i = 0; i < users; i++) for (let n = 0; n <= refusalRate.burst; n++) refuse({ kind: 'user', name: `u${i}` })
    refusals.flush()
    const counted = written.filter(({ count }) => count !== undefined)
    expect(counted.length).toBeLessThanOrEqual(1001)
    expect(counted.reduce((sum, { count }) => sum + count!, 0)).toBe(users)
  })
})
