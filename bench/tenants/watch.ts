/** Follows LNamespaces by one watch, as a client would. */
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { createInterface } from 'node:readline'
import { KubeConfig } from '@kubernetes/client-node'
import type { KubeObject } from '../../src/base/domain.ts'
import { collectionPath } from '../../src/kube/kinds.ts'
import { tenantParent } from '../../src/tenants/words.ts'

interface Condition {
  readonly type: string
  readonly status: string
}

export type LNamespace = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } }

/** Calls back for each event from now on. @returns a function that ends the watch */
export async function watchLNamespaces(kubeconfig: string, onEvent: (object: LNamespace) => void): Promise<() => void> {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] = {}
  await config.applyToHTTPSOptions(options)
  const url = `${config.getCurrentCluster()!.server}${collectionPath(tenantParent.apiVersion, tenantParent.kind)}?watch=true`
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options, resolve).once('error', reject).end()
  })
  createInterface({ input: answer }).on('line', line => onEvent((JSON.parse(line) as { object: LNamespace }).object))
  return () => answer.destroy()
}

export const isReady = ({ status }: LNamespace): boolean =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
