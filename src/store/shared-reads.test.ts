import { describe, expect, it } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { SharedReads } from './shared-reads.ts'

/** Lets a reading begin. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < 2; turns++) await new Promise(resolve => setImmediate(resolve))
}

/** Readings of one place: each returns its number once `gate` resolves. */
function makeReads() {
  const reads = new SharedReads(1)
  const place = { readings: 0, gate: Promise.resolve() }
  const read = async () => {
    place.readings += 1
    const number = place.readings
    await place.gate
    return number
  }
  return { reads, place, ask: (signal?: AbortSignal) => reads.read('place', read, signal) }
}

const left = new Error('left')

describe('SharedReads', () => {
  it('reads once for clients that ask one after another in a turn of the event loop', async () => {
    const { place, ask } = makeReads()
    const client = () => new Promise(resolve => setImmediate(() => resolve(ask())))
    expect(await Promise.all([client(), client()])).toEqual([1, 1])
    expect(place.readings).toBe(1)
  })

  it('reads each place for itself', async () => {
    const { reads } = makeReads()
    const asked = ['a', 'b'].map(place => reads.read(place, async () => place))
    expect(await Promise.all(asked)).toEqual(['a', 'b'])
  })

  it('reads anew, once, for clients that ask during a reading and at its end', async () => {
    const { place, ask } = makeReads()
    const gate = Promise.withResolvers<void>()
    place.gate = gate.promise
    const first = ask()
    await turn()
    expect(place.readings).toBe(1)
    const during = ask()
    gate.resolve()
    expect(await first).toBe(1)
    expect(await Promise.all([during, ask()])).toEqual([2, 2])
  })

  it('reads for a client when another one leaves that asked for the same', async () => {
    const { ask } = makeReads()
    const client = new AbortController()
    const leaving = ask(client.signal)
    const staying = ask()
    client.abort(left)
    await expect(leaving).rejects.toBe(left)
    expect(await staying).toBe(1)
  })

  it('reads for a client that asks when all others have left', async () => {
    const { place, ask } = makeReads()
    const client = new AbortController()
    const leaving = ask(client.signal)
    client.abort(left)
    const staying = ask()
    await expect(leaving).rejects.toBe(left)
    expect(await staying).toBe(1)
    expect(place.readings).toBe(1)
  })

  it('reads nothing for a client that has left before it asks', async () => {
    const { place, ask } = makeReads()
    await expect(ask(AbortSignal.abort(left))).rejects.toBe(left)
    await turn()
    expect(place.readings).toBe(0)
  })

  it('reads a place again when Redis did not answer while it waited', async () => {
    const { reads, ask } = makeReads()
    const silence = new RetryLater('away')
    const other = reads.read('other', () => Promise.reject(silence))
    const waiting = ask()
    await expect(other).rejects.toBe(silence)
    await expect(waiting).rejects.toBe(silence)
    expect(await ask()).toBe(1)
  })
})
