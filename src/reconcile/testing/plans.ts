/** For tests: wishes and facts of ConfigMaps, and their plans. */
import type { KubeObject } from '../../base/domain.ts'
import { factOf } from '../facts.ts'
import { plan } from '../plan.ts'
import type { Fact, Path, Wanted } from '../types.ts'

export const parent = { apiVersion: 'sample/v1', kind: 'Sample' }
export const owner = (uid: string) => ({ ...parent, name: 'p', uid })

export const object = (name: string, more: object = {}, ownerReferences: object[] = [owner('p1')]): KubeObject =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'n', ownerReferences }, ...more }) as KubeObject

export const paths = [['data'], ['list']]
/** An object as a watch shows it. */
export const seen = (object: KubeObject, uid = `u-${object.metadata.name}`, version = '1'): Fact =>
  factOf({ ...object, metadata: { ...object.metadata, uid, resourceVersion: version } }, paths)

export const wish = (object: KubeObject, more: Partial<Wanted> = {}): Wanted => ({
  object,
  stage: 1,
  compare: 'exact',
  ...more,
})

export const parentFact = factOf({ ...parent, metadata: { name: 'p', uid: 'p1', resourceVersion: '1' } }, [])
const watch = { apiVersion: 'v1', kind: 'ConfigMap' }
/** A kind whose ConfigMaps give rights, if `grants` has paths. */
const kindOf = (grants: readonly Path[]) => ({ parent, sources: [{ watch, paths, grants }] })
export const planned = (objects: Wanted[], standing: Fact[], grants: readonly Path[] = []) =>
  plan({ objects, standing, parent: parentFact }, kindOf(grants))
export const sharing = (objects: Wanted[], standing: Fact[]) =>
  plan({ objects, standing, parent: 'shared' }, kindOf([]))
export const rights = [['list']]
