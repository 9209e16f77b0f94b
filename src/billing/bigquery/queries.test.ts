/** An API that answers without end. */
import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { Queries } from './queries.ts'

/** Each answer names another page. */
function endless(value: string, clock: ManualClock): Queries {
  const body = Buffer.from(
    JSON.stringify({
      ...{ jobComplete: true, jobReference: { jobId: 'j' }, pageToken: 'more' },
      ...{ schema: { fields: [{ name: 'value' }] }, rows: [{ f: [{ v: value }] }] },
    }),
  )
  const send = async () => {
    clock.advance(1)
    return { url: new URL('https://bigquery.example'), status: 200, header: () => '', body }
  }
  return new Queries({
    ...{ endpoint: 'https://bigquery.example', projectId: 'p', clock, timeoutMs: 1_000 },
    http: { send, close: async () => {} },
    tokens: { headers: async () => ({}), renew: async () => {} },
  })
}

test.each([
  ['of many bytes', 'x'.repeat(1024 * 1024), 'Refused'],
  ['of hardly any', '', 'TimedOut'],
])('rows gives up pages without end %s', async (_, value, reason) => {
  const queries = endless(value, new ManualClock())
  const asked = queries.rows({ text: 'SELECT 1', parameters: [], isWrite: false }, new AbortController().signal)
  await expect(asked).rejects.toMatchObject({ reason })
})
