/** Login behind Gafaelfawr: its ingress before `/console/login` has checked the scope, and sends name and token. */
import type { IncomingMessage } from 'node:http'
import { ApiError, isUnavailable } from '../../base/errors.ts'
import { type Ingress, tokenOf, userOf } from '../../identity/ingress.ts'
import { Unclear } from '../../identity/source.ts'
import type { UserInfoClient } from '../../identity/user-info.ts'
import { appScope } from '../access/scope.ts'
import type { Tries } from '../access/tries.ts'
import type { LoginPages, Tell } from '../server/login-pages.ts'
import { notServed } from '../server/refused.ts'
import { type Answer, redirect, type Visit } from '../server/visit.ts'
import { type EnterParts, enter, entered, failed, type LoginResult, presentIn, silent } from './enter.ts'
import type { Kept } from './keeper.ts'
import type { NewWord, WordSource } from './word-source.ts'

export interface GafaelfawrPagesParts extends EnterParts {
  readonly ingress: Pick<Ingress, 'requireIngress'>
  readonly users: Pick<UserInfoClient, 'infoOf'>
  readonly tries: Pick<Tries, 'begin'>
}

export class GafaelfawrPages implements LoginPages {
  readonly #parts: GafaelfawrPagesParts

  constructor(parts: GafaelfawrPagesParts) {
    this.#parts = parts
  }

  async begin(visit: Visit, next: string | undefined, tell: Tell): Promise<Answer> {
    // A look ahead of the browser's must not begin a login.
    if (visit.incoming.method !== 'GET') throw notServed('GET')
    const { afterMs, succeeded } = this.#parts.tries.begin(visit.from.address ?? '')
    if (afterMs > 0) return this.#failed('slow', tell, next, afterMs)
    try {
      const made = await this.#login(visit)
      succeeded()
      if (made === 'here') return redirect(next ?? '/console/login')
      if (typeof made === 'string') return this.#failed(made, tell, next)
      this.#parts.onLogin('in')
      tell.in(made.user, 303)
      return entered(made.id, next, this.#parts.lifeMs, [])
    } catch (error) {
      if (isUnavailable(error)) {
        this.#parts.onLogin('unavailable')
        tell.out('unavailable', 503)
        throw silent(error)
      }
      if (error instanceof ApiError) return this.#failed('denied', tell, next)
      throw error
    }
  }

  async #login(visit: Visit) {
    const { ingress, users, logins } = this.#parts
    const headers = headersOf(visit.incoming.headers)
    ingress.requireIngress(headers, appScope)
    const [user, token] = [userOf(headers), tokenOf(headers)]
    const present = await presentIn(visit, this.#parts)
    // Each login ends the oldest one of many: an app's script must not end those of other browsers.
    if (present === user) return 'here'
    const begun = await logins.begin()
    const { username, groups } = await users.infoOf(token, user)
    if (username !== user) throw new ApiError(401, { msg: 'the token is of somebody else', type: 'unauthorized' })
    // The ingress vouches for the scope.
    return enter({ identity: { username, groups, scopes: [appScope] }, kept: { token }, begun, present }, this.#parts)
  }

  #failed(
    is: Exclude<LoginResult, 'in' | 'unavailable'>,
    tell: Tell,
    next: string | undefined,
    afterMs?: number,
  ): Answer {
    this.#parts.onLogin(is)
    const answer = failed(is, { next, ...(afterMs !== undefined && { afterMs }) })
    tell.out(is, answer.status)
    return answer
  }
}

/** Headers that came twice are joined by a comma, and then are neither secret nor name. */
function headersOf(sent: IncomingMessage['headers']): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(sent)) if (typeof value === 'string') headers.set(name, value)
  return headers
}

/** Asks Gafaelfawr about the token of a login. */
export class GafaelfawrWords implements WordSource {
  readonly #users: Pick<UserInfoClient, 'infoOf'>

  constructor(users: Pick<UserInfoClient, 'infoOf'>) {
    this.#users = users
  }

  async again(kept: Kept, user: string): Promise<NewWord | 'ended'> {
    try {
      const { username, groups } = await this.#users.infoOf(kept.token, user)
      return username === user ? { groups: groups.map(({ name }) => name), kept } : 'ended'
    } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return 'ended'
      // His own requests use up his places. That says nothing of others.
      if (error instanceof ApiError && error.status === 429) throw new Unclear(error.message)
      throw error
    }
  }
}
