/** Login by a form for a token: for demos and tests. */
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import type { StaticLogin } from '../access/static-login.ts'
import { setLoginCookie } from '../policy/cookies.ts'
import { loginPage } from '../policy/pages.ts'
import type { Site } from '../policy/site.ts'
import { checkNext } from '../policy/target.ts'
import { readForm } from '../server/form.ts'
import type { LoginPages, Tell } from '../server/login-pages.ts'
import { type Answer, redirect, retryAfter, type Visit } from '../server/visit.ts'
import { type EnterParts, failed, presentIn } from './enter.ts'

export interface StaticPagesParts {
  readonly site: Site
  readonly clock: Pick<Clock, 'after'>
  readonly login: Pick<StaticLogin, 'login'>
  readonly access: EnterParts['access']
  readonly lifeMs: number
  /** Where the form may lead beside the platform's host, such as `https://*.apps.example.net`. */
  readonly alsoTo?: string | undefined
}

const problems = {
  refused: 'Nobody is known by this token.',
  revoked: 'You were just logged out everywhere. Try again.',
  slow: 'There were too many tries. Wait a moment.',
} as const

const tooFast = (page: Answer, afterMs: number): Answer => ({
  ...page,
  status: 429,
  headers: { ...page.headers, ...retryAfter(afterMs) },
})

export class StaticPages implements LoginPages {
  readonly #parts: StaticPagesParts

  constructor(parts: StaticPagesParts) {
    this.#parts = parts
  }

  async begin(_: Visit, next: string | undefined): Promise<Answer> {
    return loginPage({ next, alsoTo: this.#parts.alsoTo })
  }

  async submit(visit: Visit, tell: Tell): Promise<Answer> {
    const { login, site, clock, lifeMs, alsoTo } = this.#parts
    const form = await readForm(visit.incoming, site, clock)
    const next = checkNext(form.get('next'))
    const present = await presentIn(visit, this.#parts)
    const answer = await login.login(form.get('token') ?? '', visit.from.address ?? '', present)
    if (answer.is === 'unavailable') throw new RetryLater('logins cannot be kept')
    if (answer.is === 'in') {
      tell.in(answer.user, 303)
      return redirect(next ?? '/console/login', { 'Set-Cookie': setLoginCookie(answer.id, lifeMs / 1000) })
    }
    if (answer.is === 'other') {
      const page = failed('other')
      tell.out('other', page.status)
      return page
    }
    const page = loginPage({ next, problem: problems[answer.is], alsoTo })
    const refused = answer.is === 'slow' ? tooFast(page, answer.afterMs) : page
    tell.out(answer.is, refused.status)
    return refused
  }
}
