/** The gateway's own pages: login by a token, logout, and the start of an app that is stopped. */
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import type { GatewayConfig } from '../../config/gateway.ts'
import type { IntentStore } from '../../store/apps/intents.ts'
import type { LoginStore } from '../../store/apps/logins.ts'
import type { AuditAction, AuditEvent } from '../../telemetry/audit.ts'
import type { Access } from '../access/access.ts'
import type { StaticLogin } from '../access/static-login.ts'
import { clearLoginCookie, cookiesOf, setLoginCookie } from '../policy/cookies.ts'
import { type FormPurpose, formToken, isFormToken } from '../policy/form-token.ts'
import { forbiddenPage, loggedInPage, loggedOutPage, loginPage, notFoundPage, startedPage } from '../policy/pages.ts'
import type { Site } from '../policy/site.ts'
import { checkNext, nextOf, type OwnTarget } from '../policy/target.ts'
import { readForm, refusal } from './form.ts'
import { Refused } from './refused.ts'
import type { Report } from './report.ts'
import { type Answer, plain, redirect, type Visit } from './visit.ts'

export interface OwnPagesParts {
  readonly site: Site
  readonly config: Pick<GatewayConfig, 'loginHours'>
  /** Of the identity source, for the audit log. */
  readonly provider: string
  readonly login: Pick<StaticLogin, 'login'>
  readonly logins: Pick<LoginStore, 'remove'>
  readonly access: Pick<Access, 'verdictOf' | 'isMember' | 'find'>
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

const loginProblems = {
  refused: 'Nobody is known by this token.',
  revoked: 'You were just logged out everywhere. Try again.',
  slow: 'There were too many tries. Wait a moment.',
} as const

const tooFast = (page: Answer, afterMs: number): Answer => ({
  ...page,
  status: 429,
  headers: { ...page.headers, 'Retry-After': String(Math.ceil(afterMs / 1000)) },
})

export class OwnPages {
  readonly #parts: OwnPagesParts

  constructor(parts: OwnPagesParts) {
    this.#parts = parts
  }

  /** @throws {Refused} for a method or a form that fits no page */
  async answer(visit: Visit, target: OwnTarget, report: Report): Promise<Answer> {
    const { method } = visit.incoming
    const reads = method === 'GET' || method === 'HEAD'
    if (!reads && method !== 'POST')
      throw new Refused('malformed', plain(405, 'the method is not served', { Allow: allowed }))
    switch (target.route) {
      case 'login':
        return reads ? this.#loginForm(visit, target.query) : this.#login(visit, report)
      case 'logout':
        return reads ? this.#pageOf(visit, loggedOutPage()) : this.#logout(visit, report)
      case 'start':
        return reads ? redirect(`/console/apps/${target.id}/`) : this.#start(visit, target.id, report)
    }
  }

  async #loginForm(visit: Visit, query: string): Promise<Answer> {
    const next = nextOf(query)
    return next === undefined ? this.#pageOf(visit, loginPage({})) : loginPage({ next })
  }

  /** For somebody who is logged in, what to do; for others this page. */
  async #pageOf(visit: Visit, otherwise: Answer): Promise<Answer> {
    const login = await this.#parts.access.find(cookiesOf(visit.incoming.rawHeaders).login, addressOf(visit))
    return login ? loggedInPage(login.user, formToken(login.id, 'logout')) : otherwise
  }

  async #login(visit: Visit, report: Report): Promise<Answer> {
    const { login, site, clock, config } = this.#parts
    const form = await readForm(visit.incoming, site, clock)
    const next = checkNext(form.get('next'))
    const answer = await login.login(form.get('token') ?? '', addressOf(visit))
    if (answer.is === 'unavailable') throw new RetryLater('logins cannot be kept')
    if (answer.is === 'in') {
      report.isOf(answer.user)
      this.#audit(visit, report, 'session.begin', { result: 'accepted', status: 303, user: answer.user })
      const cookie = setLoginCookie(answer.id, config.loginHours * 3600)
      return redirect(next ?? '/console/login', { 'Set-Cookie': cookie })
    }
    const page = loginPage({ next, problem: loginProblems[answer.is] })
    const refused = answer.is === 'slow' ? tooFast(page, answer.afterMs) : page
    this.#audit(visit, report, 'session.begin', { result: 'refused', status: refused.status, reason: answer.is })
    return refused
  }

  async #logout(visit: Visit, report: Report): Promise<Answer> {
    const { user, hash } = await this.#formOf(visit, 'logout')
    report.isOf(user)
    await this.#parts.logins.remove(hash)
    this.#audit(visit, report, 'session.end', { result: 'accepted', status: 303, user })
    return redirect('/console/logout', { 'Set-Cookie': clearLoginCookie() })
  }

  async #start(visit: Visit, id: string, report: Report): Promise<Answer> {
    const { access, intents } = this.#parts
    const login = await this.#formOf(visit, `start ${id}`)
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
    const { site, clock, access } = this.#parts
    const form = await readForm(visit.incoming, site, clock)
    const token = form.get('token')
    const id = cookiesOf(visit.incoming.rawHeaders).login.find(each => isFormToken(token, each, purpose))
    const login = id === undefined ? undefined : await access.find([id], addressOf(visit))
    if (!login) throw refusal(403, 'the form is not of your login: load its page again')
    return login
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
const allowed = 'GET, HEAD, POST'
