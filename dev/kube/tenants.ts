/** The objects that tenants need in a cluster: the files of k8s/components/tenants without its Deployment. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../src/base/domain.ts'
import { type Config, configSchema } from '../../src/config/schema.ts'
import { renderTenantRights } from '../../src/tenants/settings.ts'

const files = ['definition', 'rbac', 'policies', 'fence', 'guard'] as const
const ownNamespace = 'skylab'
const checkout = fileURLToPath(new URL('../..', import.meta.url))
const folder = 'k8s/components/tenants'

/** The configuration by which an operator has patched the objects. Default: as the files have them. */
export type PatchedBy = Partial<Pick<Config, 'installation' | 'tenants'>>

/**
 * The objects, in the order in which they are applied.
 * @param root of the files; default: this checkout
 */
export async function tenantsObjects(by?: PatchedBy, root = checkout): Promise<KubeObject[]> {
  const texts = await Promise.all(files.map(name => readFile(join(root, folder, `${name}.yaml`), 'utf8')))
  const objects = texts.flatMap(text => parseAllDocuments(text, { merge: true }).map(each => each.toJS() as KubeObject))
  const patches = by ? renderTenantRights({ ...configSchema.parse({}), ...by, ownNamespace }) : []
  const patchOf = ({ kind, metadata: { name } }: KubeObject) =>
    patches.find(each => each.kind === kind && each.metadata.name === name)
  return objects.map(object => patchOf(object) ?? object)
}

/** The same as one text for `kubectl apply`. The namespace of the account must exist. */
export const tenantsManifests = async (by?: PatchedBy): Promise<string> =>
  (await tenantsObjects(by)).map(object => JSON.stringify(object)).join('\n---\n')
