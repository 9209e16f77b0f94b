/** Cost of the worst permitted bodies for the event loop. */
import { expect, it } from 'vitest'
import { api } from '../../../test/kit/api/scripted-api.ts'
import { configSchema } from '../../config/schema.ts'

const { maxBodyBytes } = configSchema.parse({}).api.limits

/** As many entries as the largest body can contain. */
function filled(head: string, entry: (index: number) => string, tail: string): string {
  const entries: string[] = []
  for (let bytes = head.length + tail.length; bytes < maxBodyBytes; bytes += entries.at(-1)!.length + 1) {
    entries.push(entry(entries.length))
  }
  return `${head}${entries.slice(0, -1).join(',')}${tail}`
}

it.each<[string, string, string?]>([
  ['names that are none', filled('{"options":{},"env":{', i => `"${i}-":""`, '}}')],
  ['good names', filled('{"options":{},"env":{', i => `"A${i}":""`, '}}')],
  ['unknown options', filled('{"options":{', i => `"A${i}":1`, '},"env":{}}')],
  ['lists', filled('{"options":{"_xsrf":[', () => '[]', ']},"env":{}}')],
  ['blanks', `{"options":{}${' '.repeat(maxBodyBytes - 30)},"env":{}}`],
  ['lists in lists', '['.repeat(maxBodyBytes), 'too_deep'],
  ['objects in objects', '{"a":'.repeat(maxBodyBytes / 5), 'too_deep'],
])('a body of the largest size full of %s is refused before any of it is parsed', async (_, body, type) => {
  const parse = JSON.parse
  let parsed = 0
  JSON.parse = (text, reviver) => {
    if (text === body) parsed += 1
    return parse(text, reviver)
  }
  try {
    const headers = { 'Content-Type': 'application/json' }
    const response = await api()('POST', 'labs/rra/create', 'rra', { body, headers })
    expect([response.status, parse(await response.text())]).toEqual([
      422,
      { detail: [{ msg: expect.any(String), type: type ?? 'too_large', loc: ['body'] }] },
    ])
    expect(parsed).toBe(0)
  } finally {
    JSON.parse = parse
  }
})
