/**
 * The Secrets with the secret variables of an app. Each change that has new values makes one of a new name, and nothing writes it
 * again. It belongs to the PhApplication, and ends with it: pods of before start with their former values.
 *
 * The account may create Secrets and has no other right to them. With a right to patch one it could read those of the whole cluster:
 * the API server names a value in its own refusal of a JSON patch that copies it, before any admission policy is asked.
 */
import { appLabels } from '../apps/words.ts'
import type { KubeClient } from '../kube/client.ts'
import { isAlreadyExists } from '../kube/errors.ts'
import { labels } from '../kube/labels.ts'
import type { Fact } from '../reconcile/types.ts'
import { secretNameOf } from './env.ts'
import { taken } from './problems.ts'
import { inWords } from './writer.ts'

export interface NewSecret {
  /** Ends its name. */
  readonly suffix: string
  readonly values: Readonly<Record<string, string>>
  readonly agent: string
}

export class AppSecrets {
  readonly #kube: Pick<KubeClient, 'create'>

  constructor(kube: Pick<KubeClient, 'create'>) {
    this.#kube = kube
  }

  /**
   * Makes a Secret of the app, unless there are no values.
   * @throws {ApiError} 409 if one of this name is there
   */
  async make(app: Fact, secret: NewSecret): Promise<void> {
    if (!(await this.#create(app, secret))) throw taken(secretNameOf(app.ref.name, secret.suffix))
  }

  /** The same for an app that names the Secret already: one of this name that is there is that of an earlier request. */
  async complete(app: Fact, secret: NewSecret): Promise<void> {
    await this.#create(app, secret)
  }

  /** @returns false if one of this name is there */
  async #create(app: Fact, { suffix, values, agent }: NewSecret): Promise<boolean> {
    if (Object.keys(values).length === 0) return true
    const { apiVersion, kind, name, namespace } = app.ref
    const metadata = {
      ...{ name: secretNameOf(name, suffix), namespace: namespace! },
      labels: { [appLabels.of]: name, [labels.managedBy]: 'skylab' },
      ownerReferences: [{ apiVersion, kind, name, uid: app.uid }],
    }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData: values }
    try {
      await this.#kube.create(secret, { agent })
      return true
    } catch (error) {
      if (isAlreadyExists(error)) return false
      throw inWords(error)
    }
  }
}
