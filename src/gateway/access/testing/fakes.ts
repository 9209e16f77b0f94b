/** Redis as the parts of `access` see it, in memory, and a gateway's parts on it with a clock that the test moves. */
import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../../../../test/kit/clock.ts'
import { keepingLog } from '../../../../test/kit/log.ts'
import type { AppRoute } from '../../../base/app-route.ts'
import { RetryLater } from '../../../base/errors.ts'
import type { Entry, TableRead } from '../../../store/apps/entries.ts'
import { hashOf, newId } from '../../../store/apps/ids.ts'
import type { Login } from '../../../store/apps/logins.ts'
import type { Members } from '../../../store/apps/members.ts'
import type { AppRing } from '../../../store/apps/rings.ts'
import type { NewSession, SessionClaim, SessionFinding } from '../../../store/apps/sessions.ts'
import { Access, type Verdict } from '../access.ts'
import type { Seen } from '../checks.ts'
import { Cuts } from '../cuts.ts'
import type { CutReason } from '../guard.ts'
import { MemberTable, RouteTable } from '../tables.ts'

/** Lets everything happen that needs no time. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await setImmediate()
}

export class FakeBell {
  readonly #listeners = new Set<(ring: AppRing) => void>()

  on = (listener: (ring: AppRing) => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  ring(ring: AppRing): void {
    for (const listener of this.#listeners) listener(ring)
  }
}

export class FakeTable<T extends Entry> {
  complete = true
  isDown = false
  broken: ReadonlySet<string> = new Set()
  reads = 0
  someReads = 0
  looks = 0
  #changes = 0
  readonly entries = new Map<string, T>()

  put(name: string, entry: T): void {
    this.entries.set(name, entry)
    this.#changes++
  }

  remove(name: string): void {
    this.entries.delete(name)
    this.#changes++
  }

  /** As if Redis was emptied. */
  empty(): void {
    this.complete = false
    this.entries.clear()
    this.#changes++
  }

  table = {
    version: async () => {
      this.#answer()
      this.looks++
      return this.#version
    },
    read: async (): Promise<TableRead<T>> => {
      this.#answer()
      this.reads++
      return this.#readOf(new Map(this.entries))
    },
    readSome: async (names: readonly string[]): Promise<TableRead<T>> => {
      this.#answer()
      this.someReads++
      return this.#readOf(new Map([...this.entries].filter(([name]) => names.includes(name))))
    },
  }

  #readOf(entries: ReadonlyMap<string, T>): TableRead<T> {
    return { complete: this.complete, version: this.#version, entries, broken: this.broken }
  }

  get #version(): string {
    return `${this.complete} ${this.#changes}`
  }

  #answer(): void {
    if (this.isDown) throw new RetryLater('Redis does not answer')
  }
}

/** Logins and sessions in memory. */
export class FakeSessions {
  isDown = false
  readonly logins = new Map<string, Login>()
  readonly sessions = new Map<string, NewSession>()
  readonly asked: (readonly SessionClaim[])[] = []
  /** Questions for logins that were answered. */
  reads = 0
  /** Awaited by each question, after its answer is made. */
  hold: Promise<void> = Promise.resolve()
  /** As `hold`, for logins. */
  holdReads: Promise<void> = Promise.resolve()

  logIn(user: string, groups: readonly string[] = []): { readonly id: string; readonly hash: string } {
    const id = newId()
    const hash = hashOf(id)!
    this.logins.set(hash, { user, groups, createdMs: 0, expiresMs: 0, version: '1', sealed: '' })
    return { id, hash }
  }

  read = async (hash: string) => {
    this.#answer()
    this.reads++
    const login = this.logins.get(hash)
    await this.holdReads
    return login
  }

  create = async (session: NewSession) => {
    this.#answer()
    if (!this.logins.has(session.loginHash)) return undefined
    const id = newId()
    this.sessions.set(hashOf(id)!, session)
    return id
  }

  check = async (claims: readonly SessionClaim[]) => {
    this.#answer()
    if (claims.length > 0) this.asked.push(claims)
    const findings = claims.map(claim => this.#find(claim))
    await this.hold
    return findings
  }

  #find({ sessionHash, loginHash, user, appId, appUid }: SessionClaim): SessionFinding {
    const login = this.logins.get(loginHash)
    if (login?.user !== user) return { is: 'login', version: '' }
    const { version } = login
    const session = this.sessions.get(sessionHash)
    const agrees = session?.appId === appId && session.appUid === appUid && session.loginHash === loginHash
    return { is: agrees ? 'in' : 'session', version }
  }

  #answer(): void {
    if (this.isDown) throw new RetryLater('Redis does not answer')
  }
}

/** The judging parts of a gateway. */
export class FakeGateway {
  readonly clock = new ManualClock({ nowMs: 1_000_000 })
  readonly bell = new FakeBell()
  readonly log = keepingLog()
  readonly routes = new FakeTable<AppRoute>()
  readonly members = new FakeTable<Members>()
  readonly sessions = new FakeSessions()
  readonly routeTable: RouteTable
  readonly memberTable: MemberTable
  readonly access: Access
  readonly cuts: Cuts
  readonly used: Seen[] = []
  readonly cut: CutReason[] = []

  constructor() {
    const { bell, clock, log, sessions } = this
    const common = { bell, clock, log }
    const names = { usernameTemplate: 'oidc:{username}', groupTemplate: 'g:{group}' }
    this.routeTable = new RouteTable(this.routes, common)
    this.memberTable = new MemberTable(this.members, names, common)
    const tables = { routes: this.routeTable, members: this.memberTable }
    const onUse = (seen: Seen) => void this.used.push(seen)
    this.access = new Access({ ...common, ...tables, logins: sessions, sessions, sessionMs: 1_800_000, onUse })
    this.cuts = new Cuts({ ...common, ...tables, access: this.access, sessions, onUse, onCut: r => this.cut.push(r) })
  }

  async start(): Promise<this> {
    for (const part of [this.routeTable, this.memberTable, this.cuts]) part.start()
    await settle()
    return this
  }

  /** Lets time pass in steps, so that whatever is due happens. */
  async pass(ms: number, stepMs = 250): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(left, stepMs))
      await settle()
    }
  }

  setDown(isDown: boolean): void {
    for (const each of [this.routes, this.members, this.sessions]) each.isDown = isDown
  }

  async verdict(appId: string, login: readonly string[], session: readonly string[] = []): Promise<Verdict> {
    return this.access.verdict({ appId, login, session, address: '192.0.2.1' })
  }

  async is(appId: string, login: readonly string[], session: readonly string[] = []): Promise<Verdict['is']> {
    return (await this.verdict(appId, login, session)).is
  }

  /** Opens something by a verdict. */
  async open(appId: string, login: readonly string[]) {
    const verdict = await this.verdict(appId, login)
    if (verdict.is !== 'in') throw new Error(`refused: ${verdict.is}`)
    return this.keep(verdict)
  }

  keep({ route, person, admitted, bearer }: Extract<Verdict, { is: 'in' }>) {
    const reasons: CutReason[] = []
    const cut = (reason: CutReason) => void reasons.push(reason)
    const guard = this.cuts.add({ appId: route.id, appUid: route.uid, person, admitted, bearer, cut })
    return { guard, reasons }
  }
}
