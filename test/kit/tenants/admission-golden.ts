/** Creations of LNamespaces, and the patches that complete them: one table for the webhook and for the policy. */
import type { KubeObject } from '../../../src/base/domain.ts'
import { lnamespace } from './objects.ts'

export interface GoldenRow {
  readonly title: string
  readonly by: 'eve' | 'argo'
  readonly object: KubeObject
  readonly patches: readonly { readonly op: 'add'; readonly path: string; readonly value: unknown }[]
}

const add = (path: string, value: unknown) => ({ op: 'add' as const, path, value })
const annotations = add('/metadata/annotations', {})
const requester = (name: string) => add('/metadata/annotations/lns.skylab~1requester', name)
const sudoer = add('/spec/sudoers', [{ kind: 'User', name: 'eve', namespace: '' }])
const bare = (name: string) => ({ apiVersion: 'gial.lblw.dev/v1beta1', kind: 'LNamespace', metadata: { name } })
const argo = 'system:serviceaccount:argo:argo'

export const golden: readonly GoldenRow[] = [
  {
    ...{ title: 'a name that is to be made', by: 'eve' },
    object: { ...bare(''), metadata: { generateName: 'new-' } as never },
    patches: [annotations, requester('eve'), add('/spec', {}), sudoer],
  },
  {
    ...{ title: 'a name alone', by: 'eve', object: bare('new') },
    patches: [annotations, requester('eve'), add('/spec', {}), sudoer],
  },
  {
    ...{ title: 'an empty spec', by: 'eve', object: lnamespace('new') },
    patches: [annotations, requester('eve'), sudoer],
  },
  {
    ...{ title: 'other annotations', by: 'eve', object: lnamespace('new', {}, { annotations: { a: 'b' } }) },
    patches: [requester('eve'), sudoer],
  },
  {
    ...{ title: 'the requester', by: 'eve' },
    object: lnamespace('new', {}, { annotations: { 'lns.skylab/requester': 'eve' } }),
    patches: [sudoer],
  },
  {
    ...{ title: 'sudoers', by: 'eve', object: lnamespace('new', { sudoers: [{ kind: 'User', name: 'ada' }] }) },
    patches: [annotations, requester('eve')],
  },
  {
    ...{ title: 'an empty list of sudoers', by: 'eve', object: lnamespace('new', { sudoers: [] }) },
    patches: [annotations, requester('eve')],
  },
  {
    ...{ title: 'nothing, by a program', by: 'argo', object: bare('new') },
    patches: [annotations, requester(argo)],
  },
]

/** The object with the patches, which only add. */
export function completed({ object, patches }: Pick<GoldenRow, 'object' | 'patches'>): KubeObject {
  const result = structuredClone(object)
  for (const { path, value } of patches) {
    const keys = path
      .slice(1)
      .split('/')
      .map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = keys.pop()!
    const parent = keys.reduce(
      (at, key) => at[key] as Record<string, unknown>,
      result as unknown as Record<string, unknown>,
    )
    parent[last] = structuredClone(value)
  }
  return result
}
