/** Joins the parts that judge: tables, sessions, cuts and logins of one gateway. */
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { IdentityProvider } from '../../identity/provider.ts'
import type { TableConnection } from '../../store/apps/entries.ts'
import { LoginStore } from '../../store/apps/logins.ts'
import { type ClusterNames, MemberStore } from '../../store/apps/members.ts'
import type { AppsBell } from '../../store/apps/rings.ts'
import { RouteStore } from '../../store/apps/routes.ts'
import { SessionStore } from '../../store/apps/sessions.ts'
import type { Keys } from '../../store/keys.ts'
import { Access, type Verdict } from './access.ts'
import type { Seen } from './checks.ts'
import { Cuts } from './cuts.ts'
import type { CutReason } from './guard.ts'
import { type LoginAnswer, StaticLogin } from './static-login.ts'
import { MemberTable, RouteTable } from './tables.ts'
import { Tries } from './tries.ts'
import { Uses } from './uses.ts'
import type { Words } from './words.ts'

/** For metrics; nothing in it names anybody. */
export interface AccessReport {
  verdict(is: Verdict['is']): void
  cut(reason: CutReason): void
  login(is: LoginAnswer['is']): void
  /** Sessions in one question to Redis. */
  asked(sessions: number): void
  /** Entries of a table that cannot be read, and are left out. */
  broken(table: 'routes' | 'members', entries: number): void
}

export interface AccessPartsOptions {
  readonly connection: TableConnection
  readonly keys: Keys
  /** Listens already, or soon. */
  readonly bell: Pick<AppsBell, 'on'>
  readonly clock: Clock
  readonly log: Log
  readonly identity: Pick<IdentityProvider, 'identify'>
  /** `tenants.rest`. */
  readonly names: ClusterNames
  /** The answers of the identity source about logins. Default: it is never asked again. */
  readonly words?: Words | undefined
  readonly loginMs: number
  readonly sessionMs: number
  readonly report: AccessReport
}

export interface AccessParts {
  readonly routes: RouteTable
  readonly members: MemberTable
  readonly access: Access
  readonly cuts: Cuts
  readonly login: StaticLogin
  /** Counts the tries of tokens, wherever they are taken. Logins at an identity source have their own. */
  readonly tries: Tries
  readonly logins: LoginStore
  start(): void
  /** Sessions that were used are extended once more. */
  stop(): Promise<void>
}

export function createAccess(options: AccessPartsOptions): AccessParts {
  const { connection, keys, bell, clock, log, identity, names, loginMs: lifeMs, sessionMs, report } = options
  const logins = new LoginStore(connection, keys)
  const sessions = new SessionStore(connection, keys)
  const common = { bell, clock, log, words: options.words }
  const broken = (table: 'routes' | 'members') => ({ onBroken: (entries: number) => report.broken(table, entries) })
  const routes = new RouteTable(new RouteStore(connection, keys), { ...common, ...broken('routes') })
  const members = new MemberTable(new MemberStore(connection, keys), names, { ...common, ...broken('members') })
  const uses = new Uses({ sessions, clock, log, sessionMs })
  const onUse = (seen: Seen) => {
    uses.note(seen)
    options.words?.note(seen.claim.loginHash)
  }
  const onVerdict = report.verdict.bind(report)
  const onAsk = report.asked.bind(report)
  const access = new Access({ ...common, routes, members, logins, sessions, sessionMs, onVerdict, onAsk, onUse })
  const cuts = new Cuts({ ...common, access, routes, members, sessions, onCut: report.cut.bind(report), onUse })
  const tries = new Tries(clock)
  const login = new StaticLogin({ identity, logins, tries, lifeMs, onLogin: report.login.bind(report) })
  const parts = [routes, members, cuts, uses]
  return {
    ...{ routes, members, access, cuts, login, logins, tries },
    start: () => {
      for (const part of parts) part.start()
    },
    stop: async () => {
      for (const part of parts.toReversed()) await part.stop()
    },
  }
}
