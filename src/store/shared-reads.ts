/**
 * Readings of streams that clients share: all that ask for one place before it is read get the same answer. A ring wakes all
 * followers of a stream together, and those of one user are mostly at the same place.
 */
import { notNeeded } from '../base/clock.ts'
import { ReadTurns } from './read-turns.ts'

/** A reading that has not begun. */
interface Reading {
  readonly answer: Promise<unknown>
  /** Takes it out of the queue, unless it has begun. */
  readonly abandon: () => void
  /** The number of clients that wait for it. */
  clients: number
}

export class SharedReads {
  readonly #turns: ReadTurns
  /** By place. A reading that has begun may lack what was written since, so it gets no more clients. */
  readonly #waiting = new Map<string, Reading>()

  /** @param atOnce readings at once */
  constructor(atOnce: number) {
    this.#turns = new ReadTurns(atOnce)
  }

  /**
   * Reads a place, by a reading that begins after this call.
   * @param place what `read` reads: for equal places any client's `read` is called
   * @throws as `ReadTurns.run`; the signal's reason when it is aborted first
   */
  read<T>(place: string, read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    const reading = this.#waiting.get(place) ?? this.#enqueue(place, read)
    return join(reading, signal) as Promise<T>
  }

  #enqueue(place: string, read: () => Promise<unknown>): Reading {
    const left = new AbortController()
    const close = () => {
      if (this.#waiting.get(place) === reading) this.#waiting.delete(place)
    }
    const begin = async () => {
      await restOfTurn()
      left.signal.throwIfAborted()
      close()
      return read()
    }
    const answer = this.#turns.run(begin, left.signal).finally(close)
    const abandon = () => {
      close()
      left.abort(notNeeded)
    }
    const reading = { answer, abandon, clients: 0 }
    this.#waiting.set(place, reading)
    return reading
  }
}

/** Clients that were woken together, or whose requests came together, ask in one turn of the event loop. */
const restOfTurn = () => new Promise<void>(resolve => setImmediate(resolve))

function join(reading: Reading, signal: AbortSignal | undefined): Promise<unknown> {
  reading.clients += 1
  return new Promise((resolve, reject) => {
    const leave = () => {
      reading.clients -= 1
      if (reading.clients === 0) reading.abandon()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', leave, { once: true })
    reading.answer.finally(() => signal?.removeEventListener('abort', leave)).then(resolve, reject)
  })
}
