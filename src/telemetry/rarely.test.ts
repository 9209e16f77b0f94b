import { expect, it } from 'vitest'
import { Rarely, type RarelyOptions } from './rarely.ts'

function rarely(options: Partial<RarelyOptions> = {}) {
  let nowMs = 1000
  const clock = {
    monotonicMs: () => nowMs,
    advance: (ms: number) => {
      nowMs += ms
    },
  }
  const lines: string[] = []
  const line = (level: string) => (fields: object, message: string) => {
    const { reason = '', failures, forMs } = fields as Record<string, unknown>
    lines.push(`${level} ${message} ${reason} ${failures} in ${forMs} ms`)
  }
  const log = { warn: line('warn'), info: line('info') }
  const subject = new Rarely({ clock, log, trouble: 'down', over: 'up', ...options })
  return { subject, clock, lines }
}

it('Rarely logs a trouble once, again when its reason changes, and its end', () => {
  const { subject, clock, lines } = rarely()
  for (const reason of ['a', 'a', 'b', 'b', 'a']) {
    subject.failed(reason)
    clock.advance(1000)
  }
  expect(subject.reason).toBe('a')
  subject.worked()
  subject.worked()
  expect(subject.reason).toBeUndefined()
  expect(lines).toEqual(['warn down a 1 in 0 ms', 'warn down b 3 in 2000 ms', 'info up  5 in 5000 ms'])
})

it('Rarely logs a lasting trouble every five minutes', () => {
  const { subject, clock, lines } = rarely()
  for (let second = 0; second < 901; second++) {
    subject.failed('a')
    clock.advance(1000)
  }
  expect(lines).toHaveLength(4)
  expect(lines[3]).toBe('warn down a 901 in 900000 ms')
})

it('Rarely logs a trouble that comes and goes at most every thirty seconds', () => {
  const { subject, clock, lines } = rarely()
  for (let second = 0; second < 61; second++) {
    subject.failed('a')
    subject.worked()
    clock.advance(1000)
  }
  expect(lines.map(line => line.slice(0, 4))).toEqual(['warn', 'info', 'warn', 'info', 'warn', 'info'])
})

it('Rarely logs a trouble that lasts after a silent relapse after thirty seconds', () => {
  const { subject, clock, lines } = rarely()
  subject.failed('a')
  subject.worked()
  for (let second = 0; second < 31; second++) {
    subject.failed('a')
    clock.advance(1000)
  }
  expect(lines.at(-1)).toBe('warn down a 31 in 30000 ms')
})

it('Rarely limits the lines of a trouble whose words always change', () => {
  const { subject, clock, lines } = rarely()
  for (let i = 0; i < 1000; i++) subject.failed(`reason ${i}`)
  expect(lines).toHaveLength(8)
  clock.advance(300_000)
  subject.failed('one more')
  expect(lines).toHaveLength(9)
})

it('Rarely treats different words of one kind as one reason', () => {
  const { subject, lines } = rarely()
  for (let i = 0; i < 10; i++) subject.failed(`after ${i} ms`, {}, 'late')
  expect(lines).toEqual(['warn down after 0 ms 1 in 0 ms'])
  expect(subject.reason).toBe('after 9 ms')
})

it('Rarely logs neither a tolerated failure nor its end', () => {
  const { subject, lines } = rarely({ tolerated: 1 })
  subject.failed('a')
  subject.worked()
  expect(lines).toEqual([])
  subject.failed('a')
  subject.failed('a')
  subject.worked()
  expect(lines).toEqual(['warn down a 2 in 0 ms', 'info up  2 in 0 ms'])
})

it('Rarely adds the dependency’s fields to every line, and the failure’s to warnings', () => {
  const all: object[] = []
  const log = { warn: (fields: object) => all.push(fields), info: (fields: object) => all.push(fields) }
  const { subject } = rarely({ log, fields: { kind: 'Pod' } })
  subject.failed('a', { status: 401 })
  subject.worked()
  expect(all).toMatchObject([{ kind: 'Pod', status: 401, reason: 'a' }, { kind: 'Pod' }])
})
