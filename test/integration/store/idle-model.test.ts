/** Touches, checks and stops in random order against a reference of a page: answers are equal, and nobody is cut off. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ActivityRead, StopRefusal, Taken, TouchAnswer } from '../../../src/store/idle.ts'
import { activity, type Idle, minuteMs, useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()
// Steps of 20 minutes never meet the ends of these, however long the test itself takes.
const [stepMs, timeoutMs, warnMs, keepMs] = [20 * minuteMs, 30 * minuteMs, 10 * minuteMs, 50 * minuteMs]

interface Look {
  readonly token: number
  readonly pod: number
  readonly last: number
  readonly touches: number
}

/** What is known of one lab, in a time of its own that only `now` moves. */
class Reference {
  now = 1
  floor: number | undefined
  pod = 1
  runs = true
  token = 0
  known: { pod?: number; last: number; touched: number; touches: number; keep: number; warned: number } =
    this.#nothing()

  #nothing(touched = 0, touches = 0) {
    return { last: 0, touched, touches, keep: 0, warned: 0 }
  }

  /** After a loss the floor is now. @returns whether it was raised */
  #raise(): boolean {
    const lost = this.floor === undefined
    this.floor ??= this.now
    return lost
  }

  lose(): void {
    this.known = this.#nothing()
    this.floor = undefined
  }

  meet(note: (known: Reference['known']) => void): TouchAnswer {
    if (!this.runs) return 'stopping'
    const { pod, touched, touches } = this.known
    if (pod !== undefined && pod !== this.pod) this.known = this.#nothing(touched, touches)
    note(this.known)
    return 'kept'
  }

  get last(): number {
    return Math.max(this.known.last, this.known.touched)
  }

  look(token: number): Look {
    this.#raise()
    return { token, pod: this.pod, last: this.last, touches: this.known.touches }
  }

  /** A check that saw no activity of its own, and warns. */
  end({ token, pod, last, touches }: Look): boolean {
    if (token !== this.token) return false
    this.#raise()
    const isSame = this.known.pod === pod
    const came = this.known.touches !== touches
    const stays = isSame || came || this.known.pod === undefined
    const keep = isSame || this.known.pod === undefined ? this.known.keep : 0
    const warned = came ? (isSame ? this.known.warned : 0) : this.now
    this.known = { ...this.known, pod, last: stays ? Math.max(last, this.last) : last, keep, warned }
    return true
  }

  cull({ token, pod, last, touches }: Look): StopRefusal | 'requested' {
    if (!this.runs || pod !== this.pod || token !== this.token) return 'changed'
    if (this.#raise()) return 'clock'
    const { known, now, floor = now } = this
    const isWarned = known.pod === pod && known.warned > 0 && known.warned + warnMs <= now
    const isIdle = this.last === last && known.touches === touches && Math.max(last, floor) + timeoutMs < now
    if (!isWarned || !isIdle || known.keep > now) return 'changed'
    this.runs = false
    this.token = 0
    return 'requested'
  }
}

/** The same lab in Redis. Its record is written directly: only the scripts of the idle engine are under test. */
class Lab {
  readonly user: string
  readonly #idle: Idle
  readonly reference = new Reference()
  #looks = new Map<number, { readonly look: Look; readonly taken: Taken; readonly read: ActivityRead; op: number }>()
  #taken = new Map<number, { readonly token: number; readonly taken: Taken }>()
  #tokens = 0

  constructor(idle: Idle, user: string) {
    this.#idle = idle
    this.user = user
  }

  async start(): Promise<void> {
    const { redis, keys } = this.#idle.store
    const { pod } = this.reference
    const record = { op: pod, status: 'running', active: '0', seq: '1', podUid: `pod-${pod}`, view: '{}', nsUid: 'n' }
    await redis.del(keys.record(this.user))
    await redis.hset(keys.record(this.user), record)
  }

  readonly commands = {
    touch: async () => {
      const { reference } = this
      const expected = reference.meet(known =>
        Object.assign(known, { touched: reference.now, touches: known.touches + 1 }),
      )
      expect(await this.#idle.touches.touch('lab', { id: this.user, ageMs: 0 }, 'push')).toBe(expected)
    },
    keep: async () => {
      const { reference } = this
      const expected = reference.meet(known =>
        Object.assign(known, { keep: reference.now + keepMs, touches: known.touches + 1 }),
      )
      const answer = await this.#idle.touches.keepAlive(
        'lab',
        { id: this.user, podUid: `pod-${reference.pod}` },
        keepMs,
      )
      expect(typeof answer === 'string' ? answer : 'kept').toBe(expected)
    },
    take: async (replica: number) => {
      if (!this.reference.runs) return
      const taken = await this.#idle.take('lab', this.user)
      this.reference.token = ++this.#tokens
      this.#taken.set(replica, { token: this.#tokens, taken })
    },
    look: async (replica: number) => {
      const mine = this.#taken.get(replica)
      if (!mine || !this.reference.runs) return
      const read = await this.#idle.activity.readLab(this.user, `pod-${this.reference.pod}`)
      const look = this.reference.look(mine.token)
      expect(read.touches).toBe(look.touches)
      this.#looks.set(replica, { look, taken: mine.taken, read, op: read.lab!.op })
    },
    end: async (replica: number) => {
      const mine = this.#looks.get(replica)
      if (!mine) return
      const podUid = `pod-${mine.look.pod}`
      const { nowMs, touches } = mine.read
      const lastMs = mine.read.activity?.lastMs ?? nowMs
      const look = mine.read.activity ? mine.look : { ...mine.look, last: this.reference.now }
      const found = activity({ podUid, lastMs, warnedMs: await this.#idle.nowMs() })
      const ended = await this.#idle.end('lab', mine.taken, { activity: found, touches })
      expect(ended).toBe(this.reference.end(look))
      this.#looks.delete(replica)
      this.#taken.delete(replica)
    },
    cull: async (replica: number) => {
      const mine = this.#looks.get(replica)
      if (!mine) return
      const { look, op, read, taken } = mine
      const ask = { ...this.#idle.ask(this.user, taken.score, read), podUid: `pod-${look.pod}`, timeoutMs, warnMs }
      const expectedMs = await this.#idle.nowMs()
      const fuse = { stopsPerMinute: 1_000_000, timeLimitMs: 1000 }
      const answer = await this.#idle.activity.cullLab({ ...ask, ...fuse, op, expectedMs })
      // A time that began with the loss of what was known is as good as none.
      const known = read.activity ? look : { ...look, last: -1 }
      expect(typeof answer === 'string' ? answer : 'requested').toBe(this.reference.cull(known))
      this.#looks.delete(replica)
      this.#taken.delete(replica)
    },
    another: async () => {
      Object.assign(this.reference, { pod: this.reference.pod + 1, runs: true })
      await this.start()
    },
    pass: async () => {
      await this.#idle.pass('lab', this.user, stepMs)
      // What a replica read before is of that time, and so is what the reference looked at.
      this.reference.now += stepMs
      this.#looks.clear()
    },
    lose: async () => {
      const { redis, keys } = this.#idle.store
      await redis.del(keys.activity('lab', this.user), keys.activityFloor)
      this.reference.lose()
    },
  }
}

type Name = keyof Lab['commands']
const often: readonly Name[] = ['take', 'look', 'end', 'cull', 'pass']
const names: readonly Name[] = [...often, ...often, ...often, 'touch', 'keep', 'another', 'lose']

test('labs are stopped when the reference stops them, and never otherwise', async () => {
  let runs = 0
  let stops = 0
  const history = fc.array(fc.tuple(fc.constantFrom(...names), fc.nat(1)), { minLength: 20, maxLength: 60 })
  // The usual way to a stop, in which the random commands are mixed.
  const round: readonly (readonly [Name, number])[] = [
    ...(['take', 'look', 'end', 'pass', 'pass', 'take', 'look'] as const).map(name => [name, 0] as const),
  ]
  const whole = fc.tuple(
    history,
    fc.nat(60),
    fc.array(fc.constantFrom<Name>('touch', 'keep', 'take', 'another'), { maxLength: 1 }),
  )
  await fc.assert(
    fc.asyncProperty(whole, async ([some, at, last]) => {
      await idle().store.redis.del(idle().store.keys.activityFloor)
      const lab = new Lab(idle(), `u${++runs}`)
      await lab.start()
      const late = last.map(name => [name, 1] as const)
      const all = [...some.slice(0, at), ...round, ...late, ['cull', 0] as const, ...some.slice(at)]
      for (const [name, replica] of all) {
        const ran = lab.reference.runs
        await lab.commands[name](replica)
        if (ran && !lab.reference.runs) stops += 1
      }
    }),
    { numRuns: 150 },
  )
  // A history in which nothing is ever stopped would prove nothing.
  expect(stops).toBeGreaterThan(20)
})
