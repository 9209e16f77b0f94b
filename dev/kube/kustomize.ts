/** What `k8s/` comes to, as `kubectl apply -k` would send it. */
import { fileURLToPath } from 'node:url'
import { run } from '../process/command.ts'

export const k8sFolder = fileURLToPath(new URL('../../k8s', import.meta.url))

/**
 * The objects of a folder with a kustomization, as YAML.
 * @param kubectl the program
 */
export function kustomize(kubectl: string, folder: string, signal?: AbortSignal): Promise<string> {
  return run(kubectl, ['kustomize', folder], { signal })
}
