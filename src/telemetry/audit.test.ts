import fc from 'fast-check'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { type AuditEvent, AuditLog, clip } from './audit.ts'
import { type LineSink, sinkOf } from './audit-sinks.ts'
import { createMetrics } from './metrics.ts'

/** An audit log and the lines of its sinks; `failing`: how many of them refuse every line. */
function auditLog({ failing = 0, sinks: count = 1 } = {}) {
  const lines: string[] = []
  const logged: object[] = []
  const full = (): never => {
    throw new Error('ENOSPC')
  }
  const sinks: LineSink[] = Array.from({ length: count }, (_, i) =>
    sinkOf(`sink-${i}`, i < failing ? full : line => void lines.push(line)),
  )
  const metrics = createMetrics(new Registry())
  const clock = { wallMs: () => Date.parse('2026-01-01T00:00:00Z') }
  const log = { error: (fields: object) => void logged.push(fields) } as never
  const audit = new AuditLog({ replica: 'skylab-0', installation: 'skylab', clock, sinks, metrics, log })
  return { audit, lines, logged, metrics }
}

const event: AuditEvent = {
  ...{ id: '7-accepted', action: 'lab.create', result: 'accepted' },
  actor: { kind: 'user', name: 'ada', scope: 'exec:notebook', provider: 'gafaelfawr' },
  object: { kind: 'lab', user: 'ada', name: 'nublado-ada', op: 7 },
  from: { address: '203.0.113.7', proxy: '10.0.0.9' },
  request: { id: 'abc-1' },
}

describe('AuditLog', () => {
  it('writes a line in one form, its mark first, without unknown fields', () => {
    const { audit, lines } = auditLog()
    expect(audit.write(event)).toBe(true)
    expect(lines).toEqual([
      '{"log":"audit","time":"2026-01-01T00:00:00.000Z","replica":"skylab-0","installation":"skylab","id":"7-accepted",' +
        '"action":"lab.create","result":"accepted",' +
        '"actor":{"kind":"user","name":"ada","scope":"exec:notebook","provider":"gafaelfawr"},' +
        '"object":{"kind":"lab","user":"ada","name":"nublado-ada","op":7},' +
        '"from":{"address":"203.0.113.7","proxy":"10.0.0.9"},"request":{"id":"abc-1"}}\n',
    ])
  })

  it('gives an event without an id a new one', () => {
    const { audit, lines } = auditLog()
    audit.write({ ...event, id: undefined })
    audit.write({ ...event, id: undefined })
    const [one, other] = lines.map(line => JSON.parse(line).id)
    expect(one).toMatch(/^[0-9a-f-]{36}$/)
    expect(other).not.toBe(one)
  })

  it('counts each event by action and result, also those that share a line', async () => {
    const { audit, metrics } = auditLog()
    audit.write(event)
    audit.write({ ...event, result: 'refused', count: 41 })
    const { values } = await metrics.auditEvents.get()
    const counted = values.map(({ labels, value }) => [labels.action, labels.result, value])
    expect(counted).toEqual([
      ['lab.create', 'accepted', 1],
      ['lab.create', 'refused', 41],
    ])
  })

  it('writes to the next sink when one fails, counts that, and logs the reason', async () => {
    const { audit, lines, logged, metrics } = auditLog({ failing: 1, sinks: 2 })
    expect(audit.write(event)).toBe(true)
    expect(lines).toHaveLength(1)
    expect(logged).toEqual([{ err: expect.objectContaining({ message: 'ENOSPC' }), sink: 'sink-0', left: 1 }])
    expect((await metrics.auditWriteFailures.get()).values[0]!.value).toBe(1)
  })

  it('logs that no sink took a line', async () => {
    const { audit, logged, metrics } = auditLog({ failing: 2, sinks: 2 })
    expect(audit.write(event)).toBe(false)
    expect(logged).toHaveLength(2)
    expect((await metrics.auditWriteFailures.get()).values[0]!.value).toBe(2)
  })

  it('removes secrets from its lines as all logs do', () => {
    const { audit, lines } = auditLog()
    const actor = { ...event.actor, token: 'hunter2' }
    audit.write({ ...event, actor, request: { id: 'a', authorization: 'hunter2' } as never })
    expect(lines.join()).not.toContain('hunter2')
  })
})

/** Hostile texts: control characters, line ends of all kinds, halves of pairs, marks of this log. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.string({ unit: 'grapheme', maxLength: 400 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 }).map(units => String.fromCharCode(...units)),
  fc.constantFrom(
    '"}\n{"log":"audit","action":"lab.delete"}\n',
    ...['\r\n', '\u2028', '\u2029', '\u0085', '\v', '\f', '\0', '\u001b[2K', '\u202e', '\ud800', '"', '\\', '\\u000a'],
    ...['x'.repeat(20_000), '\u{1f4a9}'.repeat(1000), 'ä'.repeat(200), '\n'.repeat(5000)],
  ),
)
const maybe = fc.option(hostile, { nil: undefined })

describe('a line of the audit log', () => {
  it('is one line of ASCII below 4096 bytes with the given fields, whatever they contain', () => {
    const events = fc.record({
      ...{ id: maybe, reason: maybe },
      result: fc.constantFrom('accepted', 'refused', 'succeeded', 'failed'),
      actor: fc.record({ kind: fc.constant('user'), name: maybe, scope: maybe, provider: maybe }),
      object: fc.record({
        kind: fc.constant('lab'),
        user: maybe,
        name: maybe,
        op: fc.option(fc.maxSafeNat(), { nil: undefined }),
        grant: maybe,
      }),
      stated: maybe,
      from: fc.record({ address: maybe, proxy: maybe, claimed: fc.option(fc.array(hostile), { nil: undefined }) }),
      request: fc.record({ id: maybe, trace: maybe, status: fc.constant(403) }),
    })
    const { audit, lines } = auditLog()
    fc.assert(
      fc.property(events, given => {
        lines.length = 0
        audit.write({ action: 'lab.create', ...given } as AuditEvent)
        expect(lines).toHaveLength(1)
        const [line] = lines
        expect(line).toMatch(/^\{"log":"audit","time":"[^"]+",[\x20-\x7e]*\}\n$/)
        expect(Buffer.byteLength(line!)).toBeLessThan(4096)
        const read = JSON.parse(line!)
        expect(read).toMatchObject({ log: 'audit', action: 'lab.create', result: given.result, replica: 'skylab-0' })
        expect(read.actor.name).toBe(given.actor.name === undefined ? undefined : clip(given.actor.name, 256))
        expect(read.object.user).toBe(given.object.user === undefined ? undefined : clip(given.object.user, 256))
        expect(Object.keys(read).filter(key => key in Object.prototype)).toEqual([])
      }),
      { numRuns: 100 },
    )
  })
})

describe('clip', () => {
  it('keeps a text that fits, and cuts between characters', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 3, max: 64 }), (text, maxBytes) => {
        const clipped = clip(text, maxBytes)
        expect(Buffer.byteLength(clipped)).toBeLessThanOrEqual(maxBytes)
        if (Buffer.byteLength(text) <= maxBytes) expect(clipped).toBe(text.toWellFormed())
        else expect(text.toWellFormed().startsWith(clipped.slice(0, -1)) && clipped.endsWith('…')).toBe(true)
      }),
    )
  })
})
