/** Reads the pull secret of labs, for requests to the registry about their images. */
import type { Config } from '../../config/schema.ts'
import type { KubeClient } from '../../kube/client.ts'

export interface PullSecretParts {
  readonly secrets: Config['lab']['secrets']
  /** The controller's own namespace. */
  readonly namespace: string
  readonly kube: Pick<KubeClient, 'get'>
}

/**
 * Returns a reader for the pull secret of `lab.secrets`: the text of a Docker config.json, or undefined without one.
 */
export function pullSecretReader({ secrets, namespace, kube }: PullSecretParts): () => Promise<string | undefined> {
  const pull = secrets.find(secret => secret.pull)
  if (pull === undefined) return async () => undefined
  const { name, key } = pull
  return async () => {
    const secret = await kube.get({ apiVersion: 'v1', kind: 'Secret', name, namespace }, { agent: 'images' })
    const data = (secret?.data ?? {}) as Readonly<Record<string, string>>
    if (!Object.hasOwn(data, key)) throw new Error(`The Secret ${name} in the namespace ${namespace} has no key ${key}`)
    return Buffer.from(data[key]!, 'base64').toString('utf8')
  }
}
