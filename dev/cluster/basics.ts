/** Shared by all providers: applies manifests and makes tokens with kubectl. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderKubeconfig } from '../kube/credentials.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import type { Cluster } from './types.ts'

export function clusterBasics(kubectl: Kubectl, stateDir: string): Pick<Cluster, 'apply' | 'tokenKubeconfig'> {
  return {
    async apply(manifestYaml) {
      await kubectl(['apply', '--server-side', '-f', '-'], { input: manifestYaml })
    },
    async tokenKubeconfig(namespace, serviceAccount) {
      const view = JSON.parse(await kubectl(['config', 'view', '--minify', '--flatten', '--raw', '-o', 'json']))
      const token = await kubectl(['create', 'token', serviceAccount, '-n', namespace, '--duration', '24h'])
      const path = join(stateDir, `${namespace}.${serviceAccount}.kubeconfig`)
      const text = renderKubeconfig({ cluster: view.clusters[0].cluster, token: token.trim(), namespace })
      writeFileSync(path, text, { mode: 0o600 })
      return path
    },
  }
}
