/** What tenants need of a cluster: the files of k8s/components/tenants without its Deployment. */
import { readFile } from 'node:fs/promises'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../src/base/domain.ts'

const files = ['definition', 'rbac', 'policies', 'fence', 'guard'] as const

/** The objects, in the order in which they are applied. */
export async function tenantsObjects(): Promise<KubeObject[]> {
  const texts = await Promise.all(files.map(name => readFile(fileOf(name), 'utf8')))
  return texts.flatMap(text => parseAllDocuments(text, { merge: true }).map(each => each.toJS() as KubeObject))
}

/** The same as one text for `kubectl apply`. The namespace of the account must exist. */
export const tenantsManifests = async (): Promise<string> =>
  (await Promise.all(files.map(name => readFile(fileOf(name), 'utf8')))).join('\n---\n')

const fileOf = (name: string) => new URL(`../../k8s/components/tenants/${name}.yaml`, import.meta.url)
