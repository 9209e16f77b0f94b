/** Joins two streams: bytes go both ways at the pace of their reader, and the end of one way leaves the other open. */
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export function splice(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => {})
    from.pipe(to)
    // A stream that failed ends nothing by itself. What came before still goes. One that is gone already tells it no more.
    if (from.destroyed) endOf(to)
    else from.once('close', () => endOf(to))
  }
}

/** A channel of SSH is no socket. */
function endOf(stream: Duplex): void {
  if (stream instanceof Socket) stream.destroySoon()
  else stream.end(() => stream.destroy())
}
