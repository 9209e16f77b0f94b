/** An operator's folder: an overlay over one of k8s/, a configuration and its rights. `kubectl` applies it. */
import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parse, stringify } from 'yaml'
import { k8sFolder } from '../../../dev/kube/kustomize.ts'
import { run } from '../../../dev/process/command.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { rightsText } from '../../../src/cli/rights.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { renderRights } from '../../../src/labs/rights.ts'
import { testBed } from '../testbed.ts'

const { kubectl, kubeconfig, stateDir } = testBed()

export interface SiteOptions {
  /** An overlay of k8s/overlays. Default: oidc. */
  readonly overlay?: string
  readonly namespace: string
  readonly installation: string
  /** The argument of `skylab rights --namespace`. */
  readonly rightsFor: string
  /** Folders of k8s/components. */
  readonly components?: readonly string[]
  /** Further ConfigMaps: name, and the text of its only file. */
  readonly files?: Readonly<Record<string, readonly [string, string]>>
  readonly images?: readonly object[]
}

/** Writes a folder without pods, and returns its path. */
export function writeSite(options: SiteOptions): string {
  const { namespace, installation, rightsFor, components = [], overlay = 'oidc', files = {}, images = [] } = options
  const folder = mkdtempSync(join(stateDir, 'site-'))
  const from = (...path: string[]) => relative(realpathSync(folder), realpathSync(join(k8sFolder, ...path)))
  const config = {
    ...parse(readFileSync(join(k8sFolder, 'overlays', overlay, 'skylab.yaml'), 'utf8'), { version: '1.1' }),
    ...{ installation, lab: { namespacePrefix: installation } },
  }
  const site = {
    ...{ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', namespace },
    resources: [from('overlays', overlay), 'rights.yaml'],
    components: components.map(name => from('components', name)),
    configMapGenerator: [
      { name: 'skylab-config', namespace: 'skylab', behavior: 'replace', files: ['skylab.yaml'] },
      ...Object.entries(files).map(([name, [file]]) => ({ name, namespace: 'skylab', files: [file] })),
    ],
    replicas: ['skylab', 'skylab-redis'].map(name => ({ name, count: 0 })),
    images,
  }
  for (const [file, text] of Object.values(files)) writeFileSync(join(folder, file), text)
  writeFileSync(join(folder, 'kustomization.yaml'), stringify(site))
  writeFileSync(join(folder, 'skylab.yaml'), stringify(config, { version: '1.1' }))
  writeFileSync(join(folder, 'rights.yaml'), rightsText(renderRights(configSchema.parse(config), rightsFor)))
  return folder
}

/** Applies it as an operator does. Rejects with the API server's message. */
export const applySite = (folder: string): Promise<string> => onSite(folder, 'apply', '--server-side')

/** Its objects, as they stand in the cluster. Rejects if one of them is missing. */
export const readSite = async (folder: string): Promise<KubeObject[]> =>
  JSON.parse(await onSite(folder, 'get', '--output', 'json')).items

function onSite(folder: string, ...command: readonly string[]): Promise<string> {
  const env = { ...process.env, KUBECACHEDIR: join(stateDir, 'kubectl') }
  return run(kubectl, ['--kubeconfig', kubeconfig, ...command, '-k', folder], { env })
}
