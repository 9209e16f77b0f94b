/** The objects that the controller of notebooks needs in a cluster: the files of k8s/components/notebooks without its Deployment. */
import { readFile } from 'node:fs/promises'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../src/base/domain.ts'

/** Name of its ServiceAccount, role and policy. */
export const notebooksAccount = 'skylab-notebooks'

const files = ['rbac', 'fence'] as const

/** The objects, in the order in which they are applied. */
export async function notebooksObjects(): Promise<KubeObject[]> {
  const at = (name: string) => new URL(`../../k8s/components/notebooks/${name}.yaml`, import.meta.url)
  const texts = await Promise.all(files.map(name => readFile(at(name), 'utf8')))
  return texts.flatMap(text => parseAllDocuments(text).map(each => each.toJS() as KubeObject))
}

/** The same as one text for `kubectl apply`. The namespace of the account must exist. */
export const notebooksManifests = async (): Promise<string> =>
  (await notebooksObjects()).map(object => JSON.stringify(object)).join('\n---\n')
