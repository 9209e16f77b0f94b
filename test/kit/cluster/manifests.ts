/** Manifests for operators as objects, the files that they mount, and a strict dry run of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { k8sFolder } from '../../../dev/kube/kustomize.ts'
import { run } from '../../../dev/process/command.ts'
import { testBed } from '../testbed.ts'

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes; each test reads other fields
export type Manifest = any

const { kubectl, kubeconfig, stateDir } = testBed()

/** Fails with the API server's message when it refuses an object, or does not know a field. */
export function tryOut(manifests: string): Promise<string> {
  const strict = ['--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict']
  const env = { ...process.env, KUBECACHEDIR: join(stateDir, 'kubectl') }
  return run(kubectl, ['--kubeconfig', kubeconfig, 'apply', ...strict, '-f', '-'], { input: manifests, env })
}

/** The keys of each Secret, by k8s/secrets.example.yaml. */
export const forms: Readonly<Record<string, string[]>> = Object.fromEntries(
  parseAllDocuments(readFileSync(join(k8sFolder, 'secrets.example.yaml'), 'utf8'))
    .map(each => each.toJS())
    .map(({ metadata, stringData }) => [metadata.name, Object.keys(stringData)]),
)

/** The keys of a Secret that become files: all of them when a volume names none. */
const itemsOf = ({ name, items }: Manifest): Manifest[] => items ?? forms[name]!.map(key => ({ key, path: key }))

/** Paths of the files that a pod's volumes add to its first container. */
export function mountedFiles({ spec }: Manifest): string[] {
  const { containers, volumes } = spec.template.spec
  return containers[0].volumeMounts.flatMap(({ name, mountPath }: Manifest) => {
    const { projected } = volumes.find((volume: Manifest) => volume.name === name)
    const items = (projected?.sources ?? []).flatMap(({ secret }: Manifest) => itemsOf(secret))
    return items.map(({ path }: Manifest) => `${mountPath}/${path}`)
  })
}

/** `name key` of each Secret that volumes use. */
export function secretsOf(volumes: Manifest[]): string[] {
  const sources = volumes.flatMap(({ secret, projected }) => [
    ...(secret ? [{ name: secret.secretName, items: secret.items }] : []),
    ...(projected?.sources ?? []).map((source: Manifest) => source.secret),
  ])
  return sources.flatMap(each => itemsOf(each).map(({ key }) => `${each.name} ${key}`))
}
