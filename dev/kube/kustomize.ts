/** Renders `k8s/` as `kubectl apply -k` would. */
import { fileURLToPath } from 'node:url'
import { run } from '../process/command.ts'

export const k8sFolder = fileURLToPath(new URL('../../k8s', import.meta.url))

/**
 * The objects of a folder with a kustomization, as YAML.
 * @param kubectl path of the program
 */
export function kustomize(kubectl: string, folder: string, signal?: AbortSignal): Promise<string> {
  return run(kubectl, ['kustomize', folder], { signal })
}
