/** The judging part of a gateway on a Redis of the tests, without a server. */
import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { Identity } from '../../../src/base/domain.ts'
import type { Admission, Verdict } from '../../../src/gateway/access/access.ts'
import type { CutReason, Guard } from '../../../src/gateway/access/guard.ts'
import {
  type AccessParts,
  type AccessPartsOptions,
  type AccessReport,
  createAccess,
} from '../../../src/gateway/access/parts.ts'
import type { Words } from '../../../src/gateway/access/words.ts'
import { unauthorized } from '../../../src/identity/provider.ts'
import type { ClusterNames } from '../../../src/store/apps/members.ts'
import { AppsBell } from '../../../src/store/apps/rings.ts'
import type { Connection } from '../../../src/store/connection.ts'
import { Keys } from '../../../src/store/keys.ts'
import { silentLog } from '../log.ts'
import { openAsGateway } from './gateway-user.ts'

export interface TestGatewayOptions {
  readonly url: string
  readonly keyPrefix: string
  readonly clock?: Clock
  readonly names?: ClusterNames
  readonly sessionMs?: number
  /** What asks the source of logins again. */
  readonly words?: (parts: Pick<AccessPartsOptions, 'connection' | 'keys' | 'clock'>) => Words
  /** By token. */
  readonly people?: Readonly<Record<string, Pick<Identity, 'username' | 'groups'>>>
}

/** Counts the reports of a gateway. */
class Counts implements AccessReport {
  readonly verdicts: Verdict['is'][] = []
  readonly cuts: CutReason[] = []
  asks = 0
  brokenEntries = 0

  verdict = (is: Verdict['is']) => void this.verdicts.push(is)
  cut = (reason: CutReason) => void this.cuts.push(reason)
  login = () => {}
  asked = () => void this.asks++
  broken = (_: 'routes' | 'members', entries: number) => {
    this.brokenEntries = entries
  }
}

export class TestGateway {
  readonly connection: Connection
  readonly bell: AppsBell
  readonly parts: AccessParts
  readonly counts = new Counts()
  readonly #listening: Promise<void>

  private constructor(connection: Connection, options: TestGatewayOptions) {
    const { keyPrefix, clock = systemClock, names = { usernameTemplate: 'oidc:{username}' }, people = {} } = options
    this.connection = connection
    const keys = new Keys(keyPrefix)
    this.bell = new AppsBell(connection, keys, systemClock)
    const identify = async (headers: Headers): Promise<Identity> => {
      const token = headers.get('authorization')!.slice('Bearer '.length)
      const person = people[token]
      if (!person) throw unauthorized()
      return { ...person, token, scopes: ['exec:notebook'] }
    }
    this.parts = createAccess({
      ...{ connection, keys, bell: this.bell, clock, log: silentLog, names, identity: { identify } },
      words: options.words?.({ connection, keys, clock }),
      ...{ loginMs: 3_600_000, sessionMs: options.sessionMs ?? 1_800_000, report: this.counts },
    })
    this.#listening = this.bell.listen()
    this.parts.start()
  }

  /** Resolves when its tables have been read. */
  static async open(options: TestGatewayOptions): Promise<TestGateway> {
    const connection = await openAsGateway(options.url, options.keyPrefix)
    const gateway = new TestGateway(connection, options)
    await Promise.all([gateway.parts.routes.look(), gateway.parts.members.look()])
    return gateway
  }

  /** Logs somebody in. @returns the id of the login */
  async logIn(token: string): Promise<string> {
    const answer = await this.parts.login.login(token, '192.0.2.1')
    if (answer.is !== 'in') throw new Error(`the login was ${answer.is}`)
    return answer.id
  }

  async verdict(appId: string, login: readonly string[], session: readonly string[] = []): Promise<Verdict> {
    return this.parts.access.verdict({ appId, login, session, address: '192.0.2.1' })
  }

  /** @throws if it is refused */
  async enter(appId: string, login: readonly string[], session: readonly string[] = []): Promise<Admission> {
    const verdict = await this.verdict(appId, login, session)
    if (verdict.is !== 'in') throw new Error(`refused: ${verdict.is}`)
    return verdict
  }

  /** Something open, by a verdict. */
  keep(admission: Admission): TestOpen {
    const { route, person, admitted, bearer } = admission
    const opening = { appId: route.id, appUid: route.uid, person, admitted, bearer }
    return new TestOpen(cut => this.parts.cuts.add({ ...opening, cut }))
  }

  /** Resolves when it hears no ring any more. */
  async deafen(): Promise<void> {
    this.bell.close()
    await this.#listening
  }

  async close(): Promise<void> {
    this.bell.close()
    await this.parts.stop()
    this.connection.close()
    await this.#listening
  }
}

export class TestOpen {
  readonly id = randomUUID()
  readonly guard: Guard
  /** Resolves with the reason and the time of its cut, by the system's monotonic clock. */
  readonly cut: Promise<{ readonly reason: CutReason; readonly atMs: number }>
  reason: CutReason | undefined

  constructor(add: (cut: (reason: CutReason) => void) => Guard) {
    const { promise, resolve } = Promise.withResolvers<{ reason: CutReason; atMs: number }>()
    this.cut = promise
    this.guard = add(reason => {
      this.reason = reason
      resolve({ reason, atMs: performance.now() })
    })
  }
}
