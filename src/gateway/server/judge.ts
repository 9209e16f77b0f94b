/** Whether somebody may go to an app: by the cookies of the gateway, or by a token that this one request bears. */
import type { AppRoute } from '../../base/app-route.ts'
import { ApiError } from '../../base/errors.ts'
import type { IdentityProvider } from '../../identity/provider.ts'
import type { Access, Admission, Verdict } from '../access/access.ts'
import type { Person } from '../access/tables.ts'
import { cookiesOf, setSessionCookie } from '../policy/cookies.ts'
import { formToken } from '../policy/form-token.ts'
import { isNavigation } from '../policy/head.ts'
import { forbiddenPage, notFoundPage, problemPage, problems } from '../policy/pages.ts'
import { type AppTarget, loginPath } from '../policy/target.ts'
import { Refused } from './refused.ts'
import { plain, redirect, type Visit } from './visit.ts'

/** Somebody who may go to an app. */
export interface Entry {
  readonly admission: Admission
  readonly route: AppRoute
  /** Absent: nobody is logged in, and the app is public. */
  readonly user?: string | undefined
  /** For the answer. */
  readonly cookie?: string | undefined
  /** The request has an `Authorization` that the identity source does not know. */
  readonly isForeignAuthorization: boolean
}

export interface JudgeParts {
  readonly access: Pick<Access, 'verdict' | 'verdictOf' | 'isMember' | 'find'>
  readonly identity: Pick<IdentityProvider, 'identify'>
}

export class Judge {
  readonly #parts: JudgeParts

  constructor(parts: JudgeParts) {
    this.#parts = parts
  }

  /** @throws {Refused} where nobody may go there with this request */
  async judge(visit: Visit, target: AppTarget): Promise<Entry> {
    const { access } = this.#parts
    const caller = await this.#caller(visit)
    const isForeignAuthorization = visit.incoming.headers.authorization !== undefined && caller === undefined
    const { login, session } = cookiesOf(visit.incoming.rawHeaders)
    const verdict = caller
      ? await access.verdictOf(caller, target.id)
      : await access.verdict({ appId: target.id, login, session })
    if (verdict.is !== 'in') throw refusal(verdict, visit, target)
    const { route, user, newSessionId } = verdict
    const cookie = newSessionId === undefined ? undefined : setSessionCookie(target.id, newSessionId)
    return { admission: verdict, route, user, cookie, isForeignAuthorization }
  }

  /** For a form that starts the app; undefined for those who may not. */
  async startToken({ incoming }: Visit, route: AppRoute): Promise<string | undefined> {
    const { access } = this.#parts
    const login = await access.find(cookiesOf(incoming.rawHeaders).login)
    return login && access.isMember(route, login) ? formToken(login.id, `start ${route.id}`) : undefined
  }

  /** Whose token it is; undefined where there is none, or the identity source does not know it: it may be the app's. */
  async #caller({ incoming }: Visit): Promise<Person | undefined> {
    const { authorization } = incoming.headers
    if (authorization === undefined || !/^bearer /i.test(authorization)) return undefined
    try {
      const identity = await this.#parts.identity.identify(new Headers({ authorization }), 'exec:notebook')
      return { user: identity.username, groups: identity.groups.map(({ name }) => name) }
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return undefined
      throw error
    }
  }
}

function refusal(verdict: Exclude<Verdict, { is: 'in' }>, visit: Visit, target: AppTarget): Refused {
  switch (verdict.is) {
    case 'login':
      return new Refused('login', isNavigation(visit.incoming) ? redirect(loginPath(target)) : unauthorized)
    case 'forbidden':
      return new Refused('forbidden', forbiddenPage(verdict.route))
    case 'unknown':
      return new Refused('unknown', notFoundPage())
    case 'unavailable':
      return new Refused('unavailable', problemPage(problems.unavailable))
  }
}

const unauthorized = plain(401, 'log in first', { 'WWW-Authenticate': 'Bearer' })
