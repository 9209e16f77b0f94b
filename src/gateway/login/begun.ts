/**
 * Logins that have begun, each in a cookie of the browser that began it, sealed for its `state`. Redis has nothing of them, so
 * strangers who begin logins fill nothing.
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { HeaderList } from '../../base/request-head.ts'
import type { Sealer } from '../../store/sealing.ts'
import { beginsWith, clearCookie, setCookie } from '../policy/cookies.ts'

/** A login that has begun, and must come back with all of it. */
export interface Begun {
  readonly state: string
  readonly nonce: string
  /** The verifier of PKCE. */
  readonly verifier: string
  /** As `checkNext` returned it. */
  readonly next?: string | undefined
}

/** How long somebody may take at the identity source. */
export const begunMs = 600_000
/** Logins of one browser at once, such as of tabs that it restores. */
const mostBegun = 4
/**
 * One for each login, so that tabs do not disturb each other. An app's script must not set them, as with `loginCookie`: else its
 * author begins a login, and the script ends it in the browser of a visitor.
 */
const prefix = '__Host-Http-skylab-begun-'
const name = 'gateway begun'
const stateForm = /^[\w-]{43}$/

const schema = z.object({ nonce: z.string(), verifier: z.string(), next: z.string().optional(), untilMs: z.number() })

const random = () => randomBytes(32).toString('base64url')
const cookieOf = (state: string) => prefix + state.slice(0, 8)

export class BegunLogins {
  readonly #sealer: Pick<Sealer, 'seal' | 'open'>
  readonly #wallMs: () => number

  /** @param wallMs the time, which all gateways share */
  constructor(sealer: Pick<Sealer, 'seal' | 'open'>, wallMs: () => number) {
    this.#sealer = sealer
    this.#wallMs = wallMs
  }

  /** @returns the login, and cookies for the browser */
  begin(next: string | undefined, rawHeaders: HeaderList): { readonly begun: Begun; readonly cookies: string[] } {
    const begun = { state: random(), nonce: random(), verifier: random(), next }
    const { state, ...kept } = begun
    const sealed = this.#sealer.seal(JSON.stringify({ ...kept, untilMs: this.#wallMs() + begunMs }), name, state)
    const own = setCookie(cookieOf(state), sealed, begunMs / 1000)
    const others = [...beginsWith(rawHeaders, prefix).keys()]
    // A browser that never comes back would send ever more of them.
    return { begun, cookies: [own, ...(others.length >= mostBegun ? others.map(clearCookie) : [])] }
  }

  /** @returns the login of this state, where this browser began it a short while ago */
  find(state: string, rawHeaders: HeaderList): Begun | undefined {
    if (!stateForm.test(state)) return undefined
    const sealed = beginsWith(rawHeaders, prefix).get(cookieOf(state))
    if (sealed === undefined) return undefined
    try {
      const { untilMs, ...kept } = schema.parse(JSON.parse(this.#sealer.open(sealed, name, state)))
      return this.#wallMs() < untilMs ? { state, ...kept } : undefined
    } catch {
      // It was sealed by another key, for another login, or by nobody.
      return undefined
    }
  }

  /** @returns the cookie that ends it in the browser */
  end({ state }: Begun): string {
    return clearCookie(cookieOf(state))
  }
}
