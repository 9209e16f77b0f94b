/** Follows LNamespaces by a watch, as a client would. */
import type { IncomingMessage } from 'node:http'
import { type RequestOptions, request } from 'node:https'
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

/**
 * Calls back for each LNamespace that there is, and for each change. The API server ends watches of a resource whose definition
 * it has just learnt; a new one begins with all that there is.
 * @returns a function that ends it
 */
export async function watchLNamespaces(kubeconfig: string, onEvent: (object: LNamespace) => void): Promise<() => void> {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] = {}
  await config.applyToHTTPSOptions(options)
  const url = `${config.getCurrentCluster()!.server}${collectionPath(tenantParent.apiVersion, tenantParent.kind)}?watch=true`
  let current: IncomingMessage
  let isOver = false
  const follow = async () => {
    current = await opened(url, options)
    const lines = createInterface({ input: current })
    lines.on('line', line => onEvent((JSON.parse(line) as { object: LNamespace }).object))
    current.once('close', () => {
      // A rejection ends the bench.
      if (!isOver) void follow()
    })
  }
  await follow()
  return () => {
    isOver = true
    current.destroy()
  }
}

const opened = (url: string, options: RequestOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    request(url, options, resolve).once('error', reject).end()
  })

export const isReady = ({ status }: LNamespace): boolean =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
