/** Overlays of an operator over one of `k8s/overlays`, built by kustomize. */
import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseAllDocuments, stringify } from 'yaml'
import { k8sFolder, kustomize } from '../../../dev/kube/kustomize.ts'
import { testBed } from '../testbed.ts'
import type { Manifest } from './manifests.ts'

const { kubectl, stateDir } = testBed()

export interface OperatorsOverlay {
  /** The folder of `k8s/overlays` below it. Default: demo. */
  readonly base?: 'demo' | 'gafaelfawr' | 'oidc'
  /** Names of `files` with more objects. */
  readonly resources?: readonly string[]
  /** Folders of `k8s/components`, in their order. */
  readonly components: readonly string[]
  /** More for the kustomization. */
  readonly more?: object
  /** Texts by name, for the kustomization to read. */
  readonly files?: Readonly<Record<string, string>>
}

/** The objects of an overlay, as an operator would apply them. */
export async function buildOverlay(plan: OperatorsOverlay): Promise<Manifest[]> {
  const { base = 'demo', resources = [], components, more = {}, files = {} } = plan
  const folder = mkdtempSync(join(stateDir, 'overlay-'))
  const from = (...path: string[]) => relative(realpathSync(folder), join(realpathSync(k8sFolder), ...path))
  const site = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [from('overlays', base), ...resources],
    components: components.map(name => from('components', name)),
    ...more,
  }
  for (const [name, text] of Object.entries({ ...files, 'kustomization.yaml': stringify(site) }))
    writeFileSync(join(folder, name), text)
  return parseAllDocuments(await kustomize(kubectl, folder)).map(each => each.toJS())
}

/** As one text for `kubectl apply`. */
export const textOf = (objects: readonly Manifest[]): string =>
  objects.map(object => JSON.stringify(object)).join('\n---\n')

export const findObject = (objects: readonly Manifest[], kind: string, name: string): Manifest =>
  objects.find(each => each.kind === kind && each.metadata.name === name)

/** The first container of a Deployment. */
export const containerOf = (objects: readonly Manifest[], name: string): Manifest =>
  findObject(objects, 'Deployment', name).spec.template.spec.containers[0]

/** Where that container has volumes. */
export const mountsOf = (objects: readonly Manifest[], name: string): readonly string[] =>
  containerOf(objects, name).volumeMounts.map(({ mountPath }: Manifest) => mountPath)

/** NetworkPolicies that apply to pods with these labels. */
export const policiesFor = (objects: readonly Manifest[], labels: Readonly<Record<string, string>>): Manifest[] =>
  objects.filter(
    ({ kind, spec }) =>
      kind === 'NetworkPolicy' &&
      Object.entries(spec.podSelector.matchLabels ?? {}).every(([key, value]) => labels[key] === value),
  )
