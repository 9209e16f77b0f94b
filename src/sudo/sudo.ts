/**
 * Sudo with an end, as people ask for it. A grant is one patch of the status, bound to UID and version of the LNamespace by
 * which it was judged: an edit of the LNamespace meanwhile makes the patch fail, and all is judged again. The reconciler
 * makes rights of it, so nothing is half done when this replica dies. Redis has no part in it. A client that leaves cancels
 * nothing: its end of sudo is an end.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Identity, KubeObject } from '../base/domain.ts'
import { ApiError, unavailable } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import type { RestConfig } from '../config/tenants.ts'
import type { KubeClient } from '../kube/client.ts'
import { KubeError } from '../kube/errors.ts'
import type { Fact, OverlaidWatch } from '../reconcile/types.ts'
import { type Grant, grantsIn, mostGrants, withGrant, withoutGrantsOf } from '../tenants/grants.ts'
import { eligibleAs, type Somebody } from '../tenants/roles.ts'
import { elsewhere } from '../tenants/settings.ts'
import type { Subject } from '../tenants/spec.ts'
import { tenantParent } from '../tenants/words.ts'
import { admitted, type TenantWorld } from '../tenants/world.ts'
import { somebodyOf } from './people.ts'

export interface SudoWish {
  readonly ttlSeconds: number
  readonly reason: string
}

export interface Granted {
  readonly grant: Grant
  readonly of: Fact
}

export interface SudoOptions {
  readonly world: TenantWorld
  readonly kube: Pick<KubeClient, 'get' | 'patch'>
  readonly rest: RestConfig
  readonly clock: Pick<Clock, 'wallMs'>
  /** Called when the status was written: rights follow. */
  readonly onWritten: (name: string, user: string) => void
}

/** Rounds in which others write the LNamespace between our look and our patch. */
const maxRounds = 8

export class Sudo {
  readonly #options: SudoOptions

  constructor(options: SudoOptions) {
    this.#options = options
  }

  /**
   * Gives a caller sudo for a time, in place of what he has.
   * @returns the grant as it is stored, and its LNamespace; its right follows
   * @throws {ApiError} 403, 404, 409, 422, 429, 503; also {RetryLater} when the API server does not answer: the grant may be
   *   stored then, and the next request takes its place
   */
  async grant(name: string, caller: Identity, { ttlSeconds, reason }: SudoWish): Promise<Granted> {
    const somebody = this.#somebody(caller)
    const { username: user } = somebody
    const id = randomUUID()
    const { clock } = this.#options
    const written = await this.#write(name, user, `grant=${id}`, fact => {
      // A reply was lost, and the request was sent again.
      if (grantOf(fact, id)) return 'done'
      const { spec, as } = this.#judged(fact, somebody)
      if (ttlSeconds > spec.maxSeconds) throw tooLong(spec.maxSeconds)
      const nowMs = clock.wallMs()
      const until = new Date(nowMs + ttlSeconds * 1000).toISOString()
      const grants = withGrant(fact, spec, { id, user, until, reason, as }, nowMs)
      if (grants.length > mostGrants) throw tooMany()
      return grants
    })
    const grant = grantOf(written, id)
    // Somebody has taken it away already.
    if (!grant) throw unavailable('the grant was taken away at once')
    return { grant, of: written }
  }

  /**
   * Ends all grants of a caller in a tenant, also where policies are missing and he is not eligible any more.
   * @returns whether there were any
   */
  async end(name: string, caller: Identity): Promise<boolean> {
    const { username: user } = this.#somebody(caller)
    let hadAny = false
    // The watches may lack the grant of another replica: it would stand, and its holder would believe that he has none.
    await this.#read(name, agentOf('end', user))
    await this.#write(name, user, 'end', fact => {
      const left = withoutGrantsOf(user, fact, this.#options.clock.wallMs())
      hadAny ||= left !== undefined
      return left ?? 'done'
    })
    return hadAny
  }

  /** @throws {ApiError} 404 where sudo by REST is off; 403 if no user of the cluster can have the name */
  #somebody(caller: Identity): Somebody {
    const { rest } = this.#options
    if (rest.usernameTemplate === undefined) throw off()
    const somebody = somebodyOf(caller, rest)
    if (!somebody) throw forbidden('no user of the cluster can have the name that tenants.rest.usernameTemplate makes')
    return somebody
  }

  /** The declaration of the LNamespace, and the entry by which somebody may ask. @throws {ApiError} 403, 409, 503 */
  #judged(fact: Fact, somebody: Somebody) {
    const { world } = this.#options
    const unguarded = world.unguarded()
    if (unguarded !== undefined) throw unavailable(`nothing is granted now: ${unguarded}`, 10)
    const admission = admitted(fact, world)
    if ('refusal' in admission) throw notAccepted(admission.refusal.message)
    const as: Subject | undefined = eligibleAs(admission.spec.eligible, somebody)
    if (!as) throw notEligible()
    return { spec: admission.spec, as }
  }

  /**
   * Patches the list of grants by what is seen then.
   * @param listOf the new list, or `done` if nothing is to be written
   * @returns the LNamespace as it is then
   */
  async #write(name: string, user: string, what: string, listOf: (fact: Fact) => JsonObject[] | 'done'): Promise<Fact> {
    const { onWritten, kube, world } = this.#options
    if (world.isElsewhere?.()) throw unavailable(elsewhere, 10)
    for (let round = 0; round < maxRounds; round += 1) {
      const fact = this.#sight.get(name)
      if (!fact || fact.deleting) throw noTenant()
      const grants = listOf(fact)
      if (grants === 'done') return fact
      const { ref, uid, resourceVersion } = fact
      const agent = agentOf(what, user)
      const patch = { status: { grants: grants.length === 0 ? null : grants } }
      try {
        const answer = await kube.patch({ ...ref, uid }, patch, { resourceVersion, subresource: 'status', agent })
        if (answer) {
          const now = this.#laid(answer)
          onWritten(name, user)
          return now ?? fact
        }
      } catch (error) {
        if (!isStale(error)) throw error
      }
      await this.#read(name, agent)
    }
    throw unavailable('others write this LNamespace all the time')
  }

  async #read(name: string, agent: string): Promise<void> {
    const known = this.#sight.get(name)
    const object = await this.#options.kube.get({ ...tenantParent, name }, { agent })
    if (object) this.#laid(object)
    else if (known) this.#sight.layGone(known)
  }

  #laid(object: KubeObject): Fact | undefined {
    this.#sight.lay({ ...object, ...tenantParent })
    return this.#sight.get(object.metadata.name)
  }

  get #sight(): OverlaidWatch {
    return this.#options.world.sights.lnamespaces
  }
}

const agentOf = (what: string, user: string): string => `sudo ${what} user=${encodeURIComponent(user)}`

const grantOf = (fact: Fact, id: string): Grant | undefined => grantsIn(fact).find(grant => grant.id === id)

/** A conflict; or an object of another UID, whose UID cannot be changed. */
const isStale = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 409 || (error.status === 422 && /metadata\.uid/.test(error.message)))

export const noTenant = (): ApiError =>
  new ApiError(404, { msg: 'there is no LNamespace of this name', type: 'unknown_tenant', loc: ['path', 'name'] })

export const noGrant = (): ApiError => new ApiError(404, { msg: 'you have no sudo with an end here', type: 'no_grant' })

const off = (): ApiError =>
  new ApiError(404, { msg: 'sudo by REST is off: tenants.rest.usernameTemplate is not set', type: 'sudo_off' })

const forbidden = (msg: string): ApiError => new ApiError(403, { msg, type: 'forbidden' })

const notEligible = (): ApiError =>
  new ApiError(403, { msg: 'spec.sudo.eligible names neither you nor a group of yours', type: 'not_eligible' })

const notAccepted = (why: string): ApiError =>
  new ApiError(409, { msg: `it is not accepted: ${why}`, type: 'not_accepted' })

const tooLong = (maxSeconds: number): ApiError =>
  new ApiError(422, {
    msg: `is more than spec.sudo.maxSeconds, which is ${maxSeconds}`,
    type: 'invalid',
    loc: ['body', 'ttlSeconds'],
  })

const tooMany = (): ApiError =>
  new ApiError(
    429,
    { msg: `${mostGrants} people have sudo with an end here; no more can`, type: 'too_many' },
    { 'Retry-After': '60' },
  )
