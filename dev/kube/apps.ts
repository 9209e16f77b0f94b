/** The objects that the controller of apps needs in a cluster: the files of k8s/components/apps without its Deployment. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../src/base/domain.ts'

const files = ['definition', 'template-definition', 'rbac', 'fence'] as const
const checkout = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The objects, in the order in which they are applied.
 * @param root of the files; default: this checkout
 */
export async function appsObjects(root = checkout): Promise<KubeObject[]> {
  const at = (name: string) => join(root, 'k8s/components/apps', `${name}.yaml`)
  const texts = await Promise.all(files.map(name => readFile(at(name), 'utf8')))
  return texts.flatMap(text => parseAllDocuments(text, { merge: true }).map(each => each.toJS() as KubeObject))
}

/** The same as one text for `kubectl apply`. The namespace of the account must exist. */
export const appsManifests = async (): Promise<string> =>
  (await appsObjects()).map(object => JSON.stringify(object)).join('\n---\n')
