/** Values as programs in Go write them in their configuration: times such as 1m30s, and sizes such as 550MiB. */
import { z } from 'zod'

const unitMs: Readonly<Record<string, number>> = {
  ...{ ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1 },
  ...{ s: 1000, m: 60_000, h: 3_600_000 },
}
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g
const whole = new RegExp(`^(?:${part.source})+$`)

/** Timers of Node count no more than 24 days. */
const longest = { ms: 500 * 3_600_000, text: '500h' }

/** @returns milliseconds, or undefined if it is no time */
export function parseGoDuration(text: string): number | undefined {
  if (text === '0') return 0
  if (text.length > 64 || !whole.test(text)) return undefined
  return Math.round([...text.matchAll(part)].reduce((sum, [, count, unit]) => sum + Number(count) * unitMs[unit!]!, 0))
}

const sizeForm = /^(\d+(?:\.\d*)?|\.\d+) *(?:([KMGTPE])(i?))?B?$/
const powers = ['K', 'M', 'G', 'T', 'P', 'E']

/** @returns bytes, or undefined if it is no size */
export function parseGoSize(text: string): number | undefined {
  const [, count, letter, binary] = (text.length <= 64 && sizeForm.exec(text)) || []
  if (count === undefined) return undefined
  const power = letter === undefined ? 0 : powers.indexOf(letter) + 1
  const bytes = Math.floor(Number(count) * (binary === 'i' ? 1024 : 1000) ** power)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** A time; converted to milliseconds. @param byDefault as an operator writes it */
export function goDuration(byDefault: string, { zero = false } = {}) {
  return z
    .union([z.string(), z.literal(0)], { error: 'not a time with its unit, such as 1m30s' })
    .transform((value, context) => {
      const time = parseGoDuration(String(value))
      if (time === undefined) context.addIssue('not a time with its unit, such as 1m30s')
      else if (time > longest.ms) context.addIssue(`is longer than ${longest.text}`)
      else if (time < (zero ? 0 : 1)) context.addIssue('must be at least 1ms')
      else return time
      return z.NEVER
    })
    .prefault(byDefault)
}

/** A size; converted to bytes. */
export const goSize = z
  .union([z.string(), z.number()], {
    error: ({ input }) => (input === undefined ? 'is required' : 'not a size, such as 550MiB, or bytes'),
  })
  .transform((value, context) => {
    const bytes = typeof value === 'string' ? parseGoSize(value) : value
    if (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= 0) return bytes
    context.addIssue('not a size, such as 550MiB, or bytes')
    return z.NEVER
  })
