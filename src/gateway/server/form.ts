/** Reads a form that a page of the gateway has posted. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { isOurOrigin, type Site } from '../policy/site.ts'
import { Refused } from './refused.ts'
import { plain } from './visit.ts'

/** A token has 16 KiB at most. */
const maxBytes = 32_768
const maxMs = 10_000

/**
 * The fields of a form. Browsers say which page has posted it; a program says nothing, and then has no cookie of a victim.
 * @throws {Refused} where another site's page has posted it, and for anything but a form
 */
export async function readForm(
  incoming: IncomingMessage,
  site: Site,
  clock: Pick<Clock, 'after'>,
): Promise<URLSearchParams> {
  if (!isOwnPage(incoming, site)) throw refusal(403, 'the form is of another page')
  const type = incoming.headers['content-type'] ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) throw refusal(415, 'not a form')
  return new URLSearchParams((await bodyOf(incoming, clock)).toString('utf8'))
}

function isOwnPage({ headers }: IncomingMessage, site: Site): boolean {
  if (headers.origin !== undefined) return isOurOrigin(headers.origin, site)
  const from = headers['sec-fetch-site']
  return from === undefined || from === 'same-origin'
}

async function bodyOf(incoming: IncomingMessage, clock: Pick<Clock, 'after'>): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  const cancel = clock.after(maxMs, () => incoming.destroy())
  try {
    for await (const part of incoming.iterator({ destroyOnReturn: false })) {
      bytes += part.length
      if (bytes > maxBytes) throw refusal(413, 'the form is too large')
      parts.push(part)
    }
  } catch (error) {
    if (error instanceof Refused) throw error
    throw refusal(400, 'the form did not come as a whole')
  } finally {
    cancel()
  }
  return Buffer.concat(parts)
}

export const refusal = (status: number, words: string) => new Refused('form', plain(status, words))
