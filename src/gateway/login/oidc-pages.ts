/** Login at an OpenID issuer: authorization code with PKCE, state and nonce, all bound to the browser that began. */
import { createHash, randomUUID } from 'node:crypto'
import { ApiError, isUnavailable } from '../../base/errors.ts'
import type { OidcConfig } from '../../config/identity.ts'
import type { RecheckStore } from '../../store/apps/rechecks.ts'
import type { Tries } from '../access/tries.ts'
import type { LoginPages, Tell } from '../server/login-pages.ts'
import { type Answer, redirect, type Visit } from '../server/visit.ts'
import { type Begun, type BegunLogins, begunMs } from './begun.ts'
import { type EnterParts, enter, entered, failed, type LoginResult, presentIn, silent } from './enter.ts'
import { identityOf, keptOf } from './oidc-words.ts'
import { Denied, type OpenIdClient, type Told } from './openid.ts'

export interface OidcPagesParts extends EnterParts {
  readonly issuer: Pick<OidcConfig, 'claims' | 'groupScopes'>
  readonly client: Pick<OpenIdClient, 'begin' | 'finish' | 'end'>
  readonly begun: BegunLogins
  readonly used: Pick<RecheckStore, 'useOnce'>
  readonly tries: Pick<Tries, 'begin'>
  /** Whether logins are asked about again, for which they need a refresh token. */
  readonly rechecks: boolean
  /** Called where the issuer gives no refresh token. */
  readonly onLacking: () => void
}

/** A login on its way back. */
interface Return {
  readonly visit: Visit
  readonly query: string
  readonly tell: Tell
  readonly begun: Begun
  /** Ends the counted try as a success. */
  readonly succeeded: () => void
}

/** Parameters of the way back that must not come twice. */
const single = ['state', 'code', 'iss', 'error']

export class OidcPages implements LoginPages {
  readonly #parts: OidcPagesParts

  constructor(parts: OidcPagesParts) {
    this.#parts = parts
  }

  async begin({ incoming }: Visit, next: string | undefined): Promise<Answer> {
    const { begun, cookies } = this.#parts.begun.begin(next, incoming.rawHeaders)
    try {
      return redirect(await this.#parts.client.begin(begun), { 'Set-Cookie': cookies })
    } catch (error) {
      if (!isUnavailable(error)) throw error
      this.#parts.onLogin('unavailable')
      throw silent(error)
    }
  }

  async finish(visit: Visit, query: string, tell: Tell): Promise<Answer> {
    const parameters = new URLSearchParams(query)
    const isPlain = single.every(name => parameters.getAll(name).length <= 1)
    const begun = isPlain ? this.#parts.begun.find(parameters.get('state') ?? '', visit.incoming.rawHeaders) : undefined
    if (!begun) return this.#failed('foreign', tell)
    const { afterMs, succeeded } = this.#parts.tries.begin(visit.from.address ?? '')
    if (afterMs > 0) return this.#failed('slow', tell, begun, afterMs)
    return this.#return({ visit, query, tell, begun, succeeded })
  }

  async farewell(): Promise<string | undefined> {
    try {
      return await this.#parts.client.end()
    } catch {
      // The login ends here all the same.
      return undefined
    }
  }

  async #return({ visit, query, tell, begun, succeeded }: Return): Promise<Answer> {
    const { onLogin, lifeMs, client, rechecks, onLacking } = this.#parts
    try {
      const present = await presentIn(visit, this.#parts)
      if (!(await this.#isFirst(begun))) return this.#failed('foreign', tell, begun)
      const epoch = await this.#parts.logins.begin()
      const told = await client.finish(query, begun)
      if (rechecks && told.refreshToken === undefined) {
        onLacking()
        throw new Denied('no_refresh_token')
      }
      const made = await enter({ ...this.#known(told, epoch), present }, this.#parts)
      // The issuer knows this person, whatever becomes of the login.
      succeeded()
      if (typeof made === 'string') return this.#failed(made, tell, begun)
      onLogin('in')
      tell.in(made.user, 303)
      return entered(made.id, begun.next, lifeMs, [this.#parts.begun.end(begun)])
    } catch (error) {
      if (isUnavailable(error)) {
        onLogin('unavailable')
        tell.out('unavailable', 503)
        throw silent(error)
      }
      // A claim that cannot be used.
      if (error instanceof Denied || error instanceof ApiError) return this.#failed('denied', tell, begun)
      throw error
    }
  }

  /** A way back that was used leads nowhere, whatever the issuer thinks of its code. */
  #isFirst({ state }: Begun): Promise<boolean> {
    const hash = createHash('sha256').update(state).digest('hex')
    return this.#parts.used.useOnce(hash, randomUUID(), begunMs)
  }

  #known(told: Told, begun: number) {
    const kept = keptOf(told)
    return { identity: identityOf(told, kept, this.#parts.issuer), begun, kept }
  }

  #failed(is: Exclude<LoginResult, 'in' | 'unavailable'>, tell: Tell, begun?: Begun, afterMs?: number): Answer {
    this.#parts.onLogin(is)
    const cookies = begun && is !== 'slow' ? [this.#parts.begun.end(begun)] : []
    const answer = failed(is, { next: begun?.next, cookies, ...(afterMs !== undefined && { afterMs }) })
    tell.out(is, answer.status)
    return answer
  }
}
