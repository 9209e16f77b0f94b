import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { formatNote, type Note, type NoteStore } from '../store/notes.ts'
import { AuditLog } from '../telemetry/audit.ts'
import { sinkOf } from '../telemetry/audit-sinks.ts'
import { silentLogger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { AuditTrail, byController } from './audit.ts'

/** A trail with its own notes, and a sink that may be full. */
function trailOf({ full = false, notes = [] as Note[] } = {}) {
  const clock = new ManualClock()
  const lines: Record<string, unknown>[] = []
  const dropped: string[] = []
  const take = vi.fn(async () => notes.splice(0))
  const drop = vi.fn(async (told: readonly string[]) => void dropped.push(...told))
  const write = (line: string) => {
    if (full) throw new Error('ENOSPC')
    lines.push(JSON.parse(line))
  }
  const metrics = createMetrics(new Registry())
  const audit = new AuditLog({
    ...{ replica: 'r1', installation: 'skylab', clock, metrics, log: silentLogger() },
    sinks: [sinkOf('test', write)],
  })
  const store = { take, drop } as unknown as NoteStore
  const trail = new AuditTrail({ audit, notes: store, namespacePrefix: 'nublado', clock, log: silentLogger() })
  onTestFinished(() => trail.stop())
  return { trail, clock, lines, dropped, take, drop }
}

const actor = { kind: 'user', name: 'ada', scope: 'exec:notebook', provider: 'oidc' } as const
const asked = { user: 'ada', actor, from: { address: '203.0.113.7' }, requestId: 'abc-1' }

describe('AuditTrail', () => {
  it('writes the end of an operation with its origin, and then removes the note', async () => {
    const { trail, lines, dropped } = trailOf()
    const by = trail.by(asked)
    trail.operation(7, 'create', 'succeeded', by)
    expect(lines).toMatchObject([
      {
        ...{ id: '7-ended', action: 'lab.create', result: 'succeeded', actor, from: { address: '203.0.113.7' } },
        ...{ object: { kind: 'lab', user: 'ada', name: 'nublado-ada', op: 7 }, request: { id: 'abc-1' } },
      },
    ])
    expect(lines[0]).not.toHaveProperty('late')
    await trail.stop()
    expect(dropped).toEqual([formatNote({ op: 7, kind: 'create', result: 'succeeded', by })])
  })

  it.each(['superseded', 'overruled'] as const)('writes a creation that was %s as failed', result => {
    const { trail, lines } = trailOf()
    trail.operation(7, 'create', result, trail.by(asked))
    expect(lines).toMatchObject([{ id: '7-ended', result: 'failed', reason: result, actor: { name: 'ada' } }])
  })

  it.each(['', 'no JSON', '7', 'null'])('writes an unknown actor when the record has the origin %j', by => {
    const { trail, lines } = trailOf()
    trail.operation(7, 'delete', 'failed', by)
    expect(lines).toMatchObject([{ id: '7-ended', result: 'failed', actor: { kind: 'unknown' }, object: { op: 7 } }])
  })

  it('keeps the note when the line could not be written', async () => {
    const { trail, dropped } = trailOf({ full: true })
    trail.operation(7, 'create', 'succeeded', trail.by(asked))
    await trail.stop()
    expect(dropped).toEqual([])
  })

  it('writes lines for notes of another replica as late, with the same id, and removes the notes', async () => {
    const by = JSON.stringify(asked)
    const notes: Note[] = [
      { op: 7, kind: 'create', result: 'accepted', by },
      { op: 7, kind: 'create', result: 'failed', by },
    ]
    const { trail, lines, dropped } = trailOf({ notes: [...notes] })
    await trail.sweep()
    expect(lines).toMatchObject([
      { id: '7-accepted', result: 'accepted', late: true, actor: { name: 'ada' } },
      { id: '7-ended', result: 'failed', late: true },
    ])
    await trail.stop()
    expect(dropped).toEqual(notes.map(formatNote))
  })

  it('writes operations of the controller itself with their reason, not as late', async () => {
    const { trail, lines } = trailOf({ notes: [] })
    const by = byController(trail, 'ada', 'lab_ended')
    const other = trailOf({ notes: [{ op: 7, kind: 'delete', result: 'accepted', by }] })
    await other.trail.sweep()
    expect(other.lines).toMatchObject([
      { id: '7-accepted', result: 'accepted', reason: 'lab_ended', actor: { kind: 'controller' } },
    ])
    expect(other.lines[0]).not.toHaveProperty('late')
    trail.operation(7, 'delete', 'succeeded', by)
    expect(lines).toMatchObject([{ id: '7-ended', result: 'succeeded', reason: 'lab_ended' }])
  })

  it('looks for notes on its interval, also after Redis was away', async () => {
    const { trail, clock, take } = trailOf()
    take.mockRejectedValueOnce(new RetryLater('Redis does not answer'))
    trail.start()
    for (let round = 1; round <= 3; round++) {
      const ms = await clock.sleepBetween(4_000, 6_000)
      clock.advance(ms)
      await vi.waitUntil(() => take.mock.calls.length === round)
    }
  })

  it('goes on when Redis did not remove notes', async () => {
    const { trail, drop } = trailOf()
    drop.mockRejectedValue(new RetryLater('Redis does not answer'))
    trail.operation(7, 'create', 'succeeded', trail.by(asked))
    await trail.stop()
    expect(drop).toHaveBeenCalledTimes(1)
  })
})
