/** Whence requests come. Most come by a few ways, and to read an address costs more than to remember what was read. */
import type { IncomingMessage } from 'node:http'
import { type IsTrusted, type Source, sourceOf } from '../../base/source.ts'
import { Kept } from '../access/kept.ts'

const mostKnown = 1000
/** Longer than any honest chain of proxies. */
const longestKnown = 256

export class Sources {
  readonly #isTrusted: IsTrusted
  readonly #known = new Kept<Source>(mostKnown)

  constructor(isTrusted: IsTrusted) {
    this.#isTrusted = isTrusted
  }

  of({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): Source {
    const { remoteAddress = '' } = socket
    const forwarded = String(headers['x-forwarded-for'] ?? '')
    // No address has a blank.
    const way = forwarded === '' ? remoteAddress : `${remoteAddress} ${forwarded}`
    const known = this.#known.get(way)
    if (known) return known
    const source = sourceOf(remoteAddress || undefined, forwarded || undefined, this.#isTrusted)
    if (way.length <= longestKnown) this.#known.set(way, source)
    return source
  }
}
