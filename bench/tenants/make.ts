/** Makes many tenants at once, by the replicas or by a bare loop; both until every right is there by the authorizer's word. */
import { systemClock } from '../../src/base/clock.ts'
import type { KubeObject } from '../../src/base/domain.ts'
import { Slots } from '../../src/base/slots.ts'
import { collectionPath, creationPath, objectPath } from '../../src/kube/kinds.ts'
import { tenantParent } from '../../src/tenants/words.ts'
import type { AdminKube, KubeAnswer } from '../../test/kit/cluster/kube.ts'
import { untilDone } from '../measure/watch.ts'
import { lnamespaceOf, rightsOf, tenantName } from './people.ts'
import { untilAllowed } from './rights.ts'
import type { Site } from './site.ts'
import { statusOf, wantedOf } from './wanted.ts'

/** Requests of a maker on their way at once, as in the bench `spawn`. */
export const lanes = 32
/** Tenants whose rights are asked at once. */
const askers = 16

export interface Made {
  /** From the first request to the last right. */
  readonly seconds: number
  /** From each LNamespace's request to its last right. */
  readonly each: readonly number[]
  /** Questions that had to be asked again. */
  readonly asked_again: number
}

/** Declares the tenants; the replicas do the rest. @param onReady called with the number of tenants that are Ready so far */
export async function makeBySkylab(site: Site, onReady: (count: number) => void): Promise<Made> {
  const { options, cluster, kube } = site
  const rights = new Rights(site)
  const byName = new Map(numbers(options.tenants).map(index => [tenantName(index), index]))
  const expected = {
    ...{ kubeconfig: cluster.kubeconfig, path: collectionPath(tenantParent.apiVersion, tenantParent.kind) },
    ...{ count: options.tenants, signal: options.signal },
    isDone: (object: LNamespace) => byName.has(object.metadata.name) && isReady(object),
    onDone: ({ metadata: { name } }: LNamespace) => onReady(rights.ask(byName.get(name)!)),
  }
  await untilDone(expected, () =>
    inLanes(options.tenants, async index => {
      rights.begins(index)
      await post(kube, lnamespaceOf(index, options))
    }),
  )
  return rights.made()
}

interface Condition {
  readonly type: string
  readonly status: string
}

type LNamespace = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } }

const isReady = ({ status }: LNamespace): boolean =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false

/** Makes the same objects by the same account, one after another for each tenant, and writes the status. */
export async function makeByLoop(site: Site): Promise<Made> {
  const { options, kube, account } = site
  const rights = new Rights(site)
  await inLanes(options.tenants, async index => {
    rights.begins(index)
    const parent = await post(kube, lnamespaceOf(index, options))
    for (const object of wantedOf(parent, site)) await post(account, object)
    const path = `${objectPath({ ...tenantParent, name: parent.metadata.name })}/status`
    accepted(await account.request('PATCH', path, { status: statusOf(parent) }), path, 200)
    rights.ask(index)
  })
  return rights.made()
}

/** Asks for the rights of each tenant once it is said to be done. */
class Rights {
  readonly #asked: Promise<void>[] = []
  readonly #site: Site
  readonly #slots = new Slots(askers)
  readonly #begunMs = systemClock.monotonicMs()
  readonly #sinceMs = new Map<number, number>()
  readonly #each: number[] = []
  #again = 0

  constructor(site: Site) {
    this.#site = site
  }

  begins(index: number): void {
    this.#sinceMs.set(index, systemClock.monotonicMs())
  }

  /** @returns the number of tenants that have been asked for */
  ask(index: number): number {
    const asked = this.#ask(index)
    // Awaited in the end: an earlier rejection is thrown there.
    asked.catch(() => {})
    return this.#asked.push(asked)
  }

  async #ask(index: number): Promise<void> {
    const { kube, options } = this.#site
    const questions = rightsOf(index, options)
    const askAll = () => Promise.all(questions.map(each => untilAllowed(kube, each, true, options.signal)))
    const asked = await this.#slots.run(askAll, options.signal)
    this.#again += asked.reduce((sum, times) => sum + times - 1, 0)
    this.#each.push((systemClock.monotonicMs() - this.#sinceMs.get(index)!) / 1000)
  }

  async made(): Promise<Made> {
    await Promise.all(this.#asked)
    const seconds = (systemClock.monotonicMs() - this.#begunMs) / 1000
    return { seconds, each: this.#each, asked_again: this.#again }
  }
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

async function inLanes(count: number, work: (index: number) => Promise<void>): Promise<void> {
  const left = numbers(count).values()
  const lane = async () => {
    for (const index of left) await work(index)
  }
  await Promise.all(numbers(lanes).map(lane))
}

async function post(kube: AdminKube, object: KubeObject): Promise<KubeObject> {
  const path = creationPath(object.apiVersion, object.kind, object.metadata.namespace)
  return accepted(await kube.request('POST', path, object), path, 201)
}

function accepted({ status, body }: KubeAnswer, path: string, wanted: number): KubeObject {
  if (status !== wanted) throw new Error(`${path}: ${status} ${body.message}`)
  return body
}
