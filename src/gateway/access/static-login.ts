/** Login by a token of the provider `static`: a form, for demos and tests. Attempts are counted, so that nobody guesses one. */
import { ApiError, isUnavailable } from '../../base/errors.ts'
import type { IdentityProvider } from '../../identity/provider.ts'
import type { LoginStore } from '../../store/apps/logins.ts'
import { appScope } from './scope.ts'
import type { Tries } from './tries.ts'

/** `revoked`: while this login was on its way; `other`: somebody else is logged in in this browser. */
export type LoginAnswer =
  | { readonly is: 'in'; readonly id: string; readonly user: string }
  | { readonly is: 'refused' | 'revoked' | 'other' | 'unavailable' }
  | { readonly is: 'slow'; readonly afterMs: number }

export interface StaticLoginOptions {
  readonly identity: Pick<IdentityProvider, 'identify'>
  readonly logins: Pick<LoginStore, 'begin' | 'create'>
  readonly tries: Pick<Tries, 'begin'>
  readonly lifeMs: number
  readonly onLogin?: (is: LoginAnswer['is']) => void
}

export class StaticLogin {
  readonly #options: StaticLoginOptions

  constructor(options: StaticLoginOptions) {
    this.#options = options
  }

  /**
   * @param address of the client, as trusted proxies report it
   * @param present who is logged in in this browser already
   */
  async login(token: string, address: string, present?: string): Promise<LoginAnswer> {
    const answer = await this.#limited(token, address, present)
    this.#options.onLogin?.(answer.is)
    return answer
  }

  async #limited(token: string, address: string, present: string | undefined): Promise<LoginAnswer> {
    const { afterMs, succeeded } = this.#options.tries.begin(address)
    if (afterMs > 0) return { is: 'slow', afterMs }
    try {
      const answer = await this.#login(token, present)
      if (answer.is === 'in') succeeded()
      return answer
    } catch (error) {
      if (isUnavailable(error)) return { is: 'unavailable' }
      if (error instanceof ApiError) return { is: 'refused' }
      throw error
    }
  }

  async #login(token: string, present: string | undefined): Promise<LoginAnswer> {
    const { identity, logins, lifeMs } = this.#options
    // Not a header: an identity provider must not see what it would read otherwise.
    if (!/^[\x21-\x7e]{1,4096}$/.test(token)) return { is: 'refused' }
    const begun = await logins.begin()
    const headers = new Headers({ Authorization: `Bearer ${token}` })
    const { username: user, groups, scopes } = await identity.identify(headers, appScope)
    if (!scopes.includes(appScope)) return { is: 'refused' }
    // An app's script may have sent the form with the token of its author.
    if (present !== undefined && present !== user) return { is: 'other' }
    const made = await logins.create({ user, groups: groups.map(({ name }) => name), begun, lifeMs })
    return made === 'revoked' ? { is: 'revoked' } : { is: 'in', id: made.id, user }
  }
}
