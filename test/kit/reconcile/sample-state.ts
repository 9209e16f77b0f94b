/** Reads samples in the cluster for tests, and finds faults in them. */
import type { AdminKube, KubeAnswer } from '../cluster/kube.ts'

type Read = KubeAnswer['body']

const roots: Readonly<Record<string, string>> = {
  deployments: '/apis/apps/v1',
  rolebindings: '/apis/rbac.authorization.k8s.io/v1',
  samples: '/apis/sample.skylab.dev/v1',
}

export type SamplePlural = 'samples' | 'services' | 'deployments' | 'rolebindings' | 'configmaps'

export const samplePath = (namespace: string, plural: SamplePlural): string =>
  `${roots[plural] ?? '/api/v1'}/namespaces/${namespace}/${plural}`

/** A Sample with its objects; null for what does not exist. */
export interface SampleState {
  readonly parent: Read
  readonly service: Read
  readonly deployment: Read
  readonly binding: Read
}

export async function readSample(kube: AdminKube, namespace: string, name: string): Promise<SampleState> {
  const get = async (plural: SamplePlural, of: string) => {
    const { status, body } = await kube.request('GET', `${samplePath(namespace, plural)}/${of}`)
    if (status !== 200 && status !== 404) throw new Error(`${plural} ${of}: ${status} ${body.message}`)
    return status === 404 ? null : body
  }
  const [parent, service, deployment, binding] = await Promise.all([
    get('samples', name),
    ...(['services', 'deployments', 'rolebindings'] as const).map(plural => get(plural, `s-${name}`)),
  ])
  return { parent, service, deployment, binding }
}

const subjectsOf = (binding: Read): string[] => (binding?.subjects ?? []).map(({ name }: { name: string }) => name)
const ownersOf = (object: Read): string[] =>
  (object.metadata.ownerReferences ?? []).map(({ uid }: { uid: string }) => uid)

/** A right that nobody should have; undefined without one. */
export function excess({ parent, binding }: SampleState): string | undefined {
  if (!binding) return undefined
  if (!parent) return 'rights of a parent that is gone'
  if (!ownersOf(binding).includes(parent.metadata.uid)) return 'rights of a former parent'
  const more = subjectsOf(binding).filter(name => !(parent.spec.members ?? []).includes(name))
  return more.length === 0 ? undefined : `rights of ${more.join()}`
}

/** The first difference between a Sample and its objects; undefined without one. */
export function wrong(state: SampleState): string | undefined {
  const { parent, service, deployment, binding } = state
  const standing = Object.entries({ service, deployment, binding }).filter(([, object]) => object)
  if (!parent) return standing[0] && `${standing[0][0]} of a parent that is gone`
  const former = standing.find(([, object]) => !ownersOf(object).includes(parent.metadata.uid))
  if (former) return `${former[0]} of a former parent`
  const { members = [], image } = parent.spec
  const subjects = subjectsOf(binding)
  if (subjects.join() !== members.join()) return `members are ${subjects.join()} instead of ${members.join()}`
  if (!service) return 'no service'
  const actual = deployment?.spec.template.spec.containers[0].image
  return actual === image ? undefined : `image is ${actual} instead of ${image}`
}

/** Differences between the shared objects and the Samples that share them. */
export async function wrongColours(kube: AdminKube, namespace: string): Promise<string[]> {
  const [samples, maps] = await Promise.all(
    (['samples', 'configmaps'] as const).map(plural => kube.list(samplePath(namespace, plural))),
  )
  const wanted = new Map<string, string[]>()
  for (const { metadata, spec } of samples!) {
    const { colour } = spec as { colour: string }
    wanted.set(colour, [...(wanted.get(colour) ?? []), metadata.uid!])
  }
  const actual = new Map(
    maps!
      .filter(({ metadata }) => metadata.name.startsWith('colour-'))
      .map(map => [map.metadata.name.slice('colour-'.length), ownersOf(map)]),
  )
  const isSame = (colour: string) => wanted.get(colour)?.sort().join() === actual.get(colour)?.sort().join()
  return [...new Set([...wanted.keys(), ...actual.keys()])].filter(colour => !isSame(colour))
}
