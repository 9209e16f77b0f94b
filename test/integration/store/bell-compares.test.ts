/** The bell compares its place with the one that commands see, for every possible difference. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Bell } from '../../../src/store/bell.ts'
import type { Connection, Entry } from '../../../src/store/connection.ts'
import type { Ring } from '../../../src/store/rings.ts'
import { ManualClock } from '../../kit/clock.ts'

const entry = (n: number, epoch = 'e'): Entry => [`${n}-1`, ['epoch', epoch, 'user', 'ada', 'op', '1', 'what', 'ended']]

/** A connection on which the test decides what the bell hears and what commands see. */
class FakeConnection {
  newestHere: Entry | undefined = entry(5)
  newestThere: Entry | undefined = entry(5)
  asked = 0
  apart = false
  renewed = 0
  move = () => {}
  #ring: (answer: unknown) => void = () => {}

  readonly listening = {
    xrevrange: async () => (this.newestHere ? [this.newestHere] : []),
    xread: () =>
      new Promise(resolve => {
        this.#ring = resolve
      }),
  }

  ring(next: Entry): void {
    this.newestHere = next
    this.#ring([['bell', [next]]])
  }

  /** Ends the waiting read without a result. */
  end(): void {
    this.#ring(null)
  }

  onMove(listener: () => void) {
    this.move = listener
    return () => {}
  }

  async newest() {
    this.asked++
    return this.newestThere
  }

  reunite = () => this.apart
  listenAnew = () => {
    this.renewed++
  }
  note = () => {}
}

let clock: ManualClock
let connection: FakeConnection
let bell: Bell
let heard: Ring[]
let listening: Promise<void>

const settle = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

beforeEach(async () => {
  clock = new ManualClock()
  connection = new FakeConnection()
  bell = new Bell(connection as unknown as Connection, 'bell', clock)
  heard = []
  bell.on(ring => heard.push(ring))
  listening = bell.listen()
  await settle()
  heard.length = 0
})

afterEach(async () => {
  bell.close()
  connection.end()
  for (let i = 0; i < 3; i++) {
    await settle()
    clock.advance(1000)
  }
  await listening
})

async function pass(ms: number): Promise<void> {
  clock.advance(ms)
  await settle()
}

test('the bell sends no command for two seconds, and one after them', async () => {
  await pass(1999)
  expect(connection.asked).toBe(0)
  await pass(1)
  expect(connection.asked).toBe(1)
})

test('the bell keeps its connection when commands see the same', async () => {
  for (let i = 0; i < 5; i++) await pass(2000)
  expect(connection.asked).toBe(5)
  expect(connection.renewed).toBe(0)
})

test.each([
  ['commands see more', entry(6)],
  ['commands see less', entry(4)],
  ['commands see nothing', undefined],
  ['commands see as much of another bell', entry(5, 'other')],
])('the bell listens anew when %s', async (_, newest) => {
  connection.newestThere = newest
  await pass(2000)
  expect(connection.renewed).toBe(0)
  await pass(1500)
  expect(connection.renewed).toBe(1)
})

test('the bell keeps its connection when it hears what commands saw first', async () => {
  connection.newestThere = entry(6)
  await pass(2000)
  connection.ring(entry(6))
  await settle()
  await pass(1500)
  expect(connection.renewed).toBe(0)
})

test('the bell keeps its connection when it notices by itself that Redis was emptied', async () => {
  connection.newestThere = undefined
  await pass(2000)
  connection.newestHere = undefined
  connection.end()
  await settle()
  expect(heard).toEqual([{ what: 'missed' }])
  await pass(1500)
  expect(connection.renewed).toBe(0)
})

test('the bell compares no numbers when the connections were just reunited', async () => {
  connection.apart = true
  connection.newestThere = entry(9)
  await pass(2000)
  await pass(1500)
  expect(connection.renewed).toBe(0)
})

test('the bell reports that something may be missed when commands have moved', () => {
  connection.move()
  expect(heard).toEqual([{ what: 'missed' }])
})
