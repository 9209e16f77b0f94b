/**
 * The Secret with the secret variables of an app. It belongs to its PhApplication, and ends with it. Values are only added: each has
 * a key of its own, which the PhApplication names, so a change is whole when that is written. Keys that the PhApplication does not
 * name any more go with the next change.
 *
 * The account may create and patch Secrets, and not read them: it would read those of the whole cluster. A patch shows what it
 * changes, and the admission policy lets it change Secrets of apps alone.
 */
import { appLabels } from '../apps/words.ts'
import type { KubeObject } from '../base/domain.ts'
import { unavailable } from '../base/errors.ts'
import { asObject } from '../base/json.ts'
import type { KubeClient } from '../kube/client.ts'
import { isAlreadyExists, isNotFound, KubeError } from '../kube/errors.ts'
import { objectPath } from '../kube/kinds.ts'
import { labels } from '../kube/labels.ts'
import { refuserOf } from '../kube/refusals.ts'
import type { Fact } from '../reconcile/types.ts'
import { secretKeysIn, secretNameOf } from './env.ts'
import { taken } from './problems.ts'
import { specOf } from './sights.ts'

/** Rounds in which others write the Secret between our reading and our patch. */
const maxRounds = 4

export class AppSecrets {
  readonly #kube: Pick<KubeClient, 'create' | 'patch' | 'request'>

  constructor(kube: Pick<KubeClient, 'create' | 'patch' | 'request'>) {
    this.#kube = kube
  }

  /**
   * Adds values, and removes those that the app does not name.
   * @throws {ApiError} 409 if the Secret of this name is not the app's
   */
  async add(app: Fact, values: Readonly<Record<string, string>>, agent: string): Promise<void> {
    if (Object.keys(values).length === 0) return
    for (let round = 0; round < maxRounds; round += 1) {
      if (await this.#made(app, values, agent)) return
      const standing = await this.#read(app, agent)
      if (standing && (await this.#patched(app, standing, values, agent))) return
    }
    throw unavailable('others write the Secret of this app all the time')
  }

  async #made(app: Fact, stringData: Readonly<Record<string, string>>, agent: string): Promise<boolean> {
    const { apiVersion, kind, name } = app.ref
    const metadata = {
      ...{ name: secretNameOf(name), namespace: app.ref.namespace! },
      labels: { [appLabels.of]: name, [labels.managedBy]: 'skylab' },
      ownerReferences: [{ apiVersion, kind, name, uid: app.uid }],
    }
    try {
      await this.#kube.create({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData }, { agent })
      return true
    } catch (error) {
      if (isAlreadyExists(error)) return false
      throw error
    }
  }

  /** A patch of nothing. @returns null without one */
  async #read(app: Fact, agent: string): Promise<KubeObject | null> {
    try {
      return (await this.#kube.request('PATCH', objectPath(refOf(app)), {}, { agent })) as KubeObject
    } catch (error) {
      if (isNotFound(error)) return null
      if (refuserOf(error) === 'policy') throw taken(secretNameOf(app.ref.name))
      throw error
    }
  }

  /** @returns whether it was not written by somebody else meanwhile */
  async #patched(app: Fact, standing: KubeObject, values: Readonly<Record<string, string>>, agent: string) {
    const { uid = '', resourceVersion, ownerReferences = [] } = standing.metadata
    if (!ownerReferences.some(owner => owner.uid === app.uid)) throw taken(secretNameOf(app.ref.name))
    const named = secretKeysIn(specOf(app), app.ref.name)
    const left = Object.keys(asObject(standing.data)).filter(key => !named.has(key) && !Object.hasOwn(values, key))
    const patch = {
      stringData: values,
      ...(left.length > 0 && { data: Object.fromEntries(left.map(key => [key, null])) }),
    }
    try {
      return (
        (await this.#kube.patch({ ...refOf(app), uid }, patch, { resourceVersion: String(resourceVersion), agent })) !==
        null
      )
    } catch (error) {
      if (error instanceof KubeError && error.status === 409) return false
      throw error
    }
  }
}

const refOf = ({ ref }: Fact) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  namespace: ref.namespace!,
  name: secretNameOf(ref.name),
})
