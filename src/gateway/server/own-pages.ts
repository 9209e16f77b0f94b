/** The gateway's own pages: login, logout, and the start of an app that is stopped. */
import { appPrefix } from '../../apps/names.ts'
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import type { IntentStore } from '../../store/apps/intents.ts'
import type { LoginStore } from '../../store/apps/logins.ts'
import type { AuditAction, AuditEvent } from '../../telemetry/audit.ts'
import type { Access } from '../access/access.ts'
import { clearLoginCookie, cookiesOf } from '../policy/cookies.ts'
import { type FormPurpose, formToken, isFormToken } from '../policy/form-token.ts'
import type { Hosts } from '../policy/hosts.ts'
import {
  farewellPage,
  forbiddenPage,
  loggedInPage,
  loggedOutPage,
  notFoundPage,
  phasePage,
  startedPage,
} from '../policy/pages.ts'
import { loginPath, nextOf, type OwnTarget } from '../policy/target.ts'
import { readForm, refusal } from './form.ts'
import type { LoginPages, Tell } from './login-pages.ts'
import { notServed, Refused } from './refused.ts'
import type { Report } from './report.ts'
import { type Answer, redirect, type Visit } from './visit.ts'
import type { WayIn } from './way-in.ts'

export interface OwnPagesParts {
  readonly hosts: Pick<Hosts, 'platform' | 'ofApp'>
  /** Where each app has a host of its own: the way there. Absent: all are at that of the platform. */
  readonly wayIn?: Pick<WayIn, 'lead' | 'arrive'> | undefined
  /** The name of the identity source, for the audit log. */
  readonly provider: string
  readonly login: LoginPages
  readonly logins: Pick<LoginStore, 'remove'>
  readonly access: Pick<Access, 'verdictOf' | 'isMember' | 'find' | 'confirmed'>
  readonly intents: Pick<IntentStore, 'ask'>
  readonly auditor: { request(event: AuditEvent): void }
  readonly clock: Pick<Clock, 'after'>
}

interface Audited {
  readonly result: AuditEvent['result']
  readonly status: number
  readonly reason?: string
  readonly user?: string | undefined
  readonly object?: AuditEvent['object']
}

export class OwnPages {
  readonly #parts: OwnPagesParts

  constructor(parts: OwnPagesParts) {
    this.#parts = parts
  }

  /**
   * @param appId whose host it is; absent: the platform's
   * @throws {Refused} for a method or a form that fits no page
   */
  async answer(visit: Visit, target: OwnTarget, report: Report, appId?: string): Promise<Answer> {
    const { method } = visit.incoming
    const reads = method === 'GET' || method === 'HEAD'
    if (!reads && method !== 'POST') throw notServed('GET, HEAD, POST')
    switch (target.route) {
      case 'login':
        return reads ? this.#begin(visit, target.query, report) : this.#submit(visit, report)
      case 'callback':
        return this.#finish(visit, target.query, report)
      case 'logout':
        return reads ? this.#pageOf(visit, async () => loggedOutPage()) : this.#logout(visit, report)
      case 'start':
        return reads ? this.#startPage(visit, target.id) : this.#start(visit, target.id, report)
      case 'enter':
        return this.#wayIn.lead(visit, target.id, target.query)
      case 'entered':
        return this.#wayIn.arrive(visit, appId ?? '', target.query, this.#tell(visit, report))
    }
  }

  async #begin(visit: Visit, query: string, report: Report): Promise<Answer> {
    const next = nextOf(query)
    const begin = () => this.#parts.login.begin(visit, next, this.#tell(visit, report))
    return next === undefined ? this.#pageOf(visit, begin) : begin()
  }

  async #submit(visit: Visit, report: Report): Promise<Answer> {
    const { login } = this.#parts
    if (!login.submit) throw notServed('GET, HEAD')
    return login.submit(visit, this.#tell(visit, report))
  }

  async #finish(visit: Visit, query: string, report: Report): Promise<Answer> {
    const { login } = this.#parts
    if (!login.finish) throw new Refused('unknown', notFoundPage())
    // A look ahead of the browser's must not use what can be used once.
    if (visit.incoming.method !== 'GET') throw notServed('GET')
    return login.finish(visit, query, this.#tell(visit, report))
  }

  /** For somebody who is logged in, what to do; for others this page. */
  async #pageOf(visit: Visit, otherwise: () => Promise<Answer>): Promise<Answer> {
    const login = await this.#loginOf(visit)
    return login ? loggedInPage(login.user, formToken(login.id, 'logout')) : otherwise()
  }

  async #logout(visit: Visit, report: Report): Promise<Answer> {
    const { user, hash } = await this.#formOf(visit, 'logout')
    report.isOf(user)
    const elsewhere = await this.#parts.login.farewell?.()
    await this.#parts.logins.remove(hash)
    const cookie = { 'Set-Cookie': clearLoginCookie() }
    const page = elsewhere === undefined ? undefined : farewellPage(elsewhere)
    const answer = page ? { ...page, headers: { ...page.headers, ...cookie } } : redirect('/console/logout', cookie)
    this.#audit(visit, report, 'session.end', { result: 'accepted', status: answer.status, user })
    return answer
  }

  /** The form to start an app, where its own host cannot have it. All else that there is to say the app's host says. */
  async #startPage(visit: Visit, id: string): Promise<Answer> {
    const { access, wayIn, hosts } = this.#parts
    const path = `${appPrefix(id)}/`
    if (!wayIn) return redirect(path)
    const login = await this.#loginOf(visit)
    if (!login) return redirect(loginPath(path))
    const verdict = await access.verdictOf(login, id)
    const route = verdict.is === 'in' && verdict.route
    const mayStart = route && route.phase === 'Stopped' && access.isMember(route, login)
    return mayStart
      ? phasePage(route, { token: formToken(login.id, `start ${id}`) })
      : redirect(hosts.ofApp(id).origin + path)
  }

  #loginOf(visit: Visit) {
    return this.#parts.access.find(cookiesOf(visit.incoming.rawHeaders).login, addressOf(visit))
  }

  get #wayIn() {
    const { wayIn } = this.#parts
    if (!wayIn) throw new Refused('unknown', notFoundPage())
    return wayIn
  }

  async #start(visit: Visit, id: string, report: Report): Promise<Answer> {
    const { access, intents } = this.#parts
    const login = await access.confirmed(await this.#formOf(visit, `start ${id}`), addressOf(visit))
    if (!login) throw refusal(403, 'your login has ended: log in again')
    report.isOf(login.user)
    const verdict = await access.verdictOf(login, id)
    const line = { user: login.user, object: { kind: 'app', name: id } }
    if (verdict.is === 'unavailable') throw new RetryLater('the routes are not known')
    const route = 'route' in verdict ? verdict.route : undefined
    if (!route || !access.isMember(route, login)) {
      const [reason, page] = route
        ? (['forbidden', forbiddenPage(route)] as const)
        : (['unknown', notFoundPage()] as const)
      this.#audit(visit, report, 'app.start', { ...line, result: 'refused', status: page.status, reason })
      throw new Refused(reason, page)
    }
    const { uid, generation } = route
    await intents.ask({ id, uid, generation, user: login.user })
    const page = startedPage(route)
    this.#audit(visit, report, 'app.start', { ...line, result: 'accepted', status: page.status })
    return page
  }

  /** The login whose page has posted a form. */
  async #formOf(visit: Visit, purpose: FormPurpose) {
    const { hosts, clock, access } = this.#parts
    const form = await readForm(visit.incoming, hosts.platform, clock)
    const token = form.get('token')
    const id = cookiesOf(visit.incoming.rawHeaders).login.find(each => isFormToken(token, each, purpose))
    const login = id === undefined ? undefined : await access.find([id], addressOf(visit))
    if (!login) throw refusal(403, 'the form is not of your login: load its page again')
    return login
  }

  #tell(visit: Visit, report: Report): Tell {
    return {
      in: (user, status) => {
        report.isOf(user)
        this.#audit(visit, report, 'session.begin', { result: 'accepted', status, user })
      },
      out: (reason, status) => this.#audit(visit, report, 'session.begin', { result: 'refused', status, reason }),
    }
  }

  #audit({ id, from }: Visit, report: Report, action: AuditAction, audited: Audited): void {
    const { result, status, reason, user, object = { kind: 'session', user } } = audited
    const { auditor, provider } = this.#parts
    const { traceId } = report.origin
    const actor = user === undefined ? { kind: 'anonymous' as const } : { kind: 'user' as const, name: user, provider }
    auditor.request({ action, result, reason, actor, object, from, request: { id, trace: traceId, status } })
  }
}

const addressOf = ({ from }: Visit): string => from.address ?? ''
