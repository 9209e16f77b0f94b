/** What a person can try while the demo of tenants runs. */
import { dirname } from 'node:path'
import type { Tools } from '../setup/setup.ts'
import type { TenantsReport } from './report.ts'

export interface GuidePlaces {
  readonly tools: Pick<Tools, 'program'>
  /** Folder of the plugins of kubectl. */
  readonly plugins: string
}

export type GuideSource = Pick<TenantsReport, 'url' | 'kubeconfig' | 'people' | 'namespace'>

/** Addresses, and commands to try. */
export function formatTenantGuide(
  { url, kubeconfig, people, namespace }: GuideSource,
  { tools, plugins }: GuidePlaces,
) {
  const { ada, grace, max } = people
  return `
REST               ${url}/tenants/v1
Kubernetes         export KUBECONFIG=${kubeconfig}     # as administrator
Programs           export PATH=${plugins}:${dirname(tools.program('kubectl'))}:$PATH

As ada, who is sudoer of ${namespace}:   export KUBECONFIG=${ada.kubeconfig}
  kubectl get lns ${namespace} -o wide
  kubectl sudo edit lns ${namespace}
  kubectl sudo get secrets -n ${namespace}
  kubectl create lns green --user grace --wait
  kubectl create lns kube-green                          # refused, in words
As grace, who is in no list:       export KUBECONFIG=${grace.kubeconfig}
  kubectl get pods -A
  kubectl sudo get secrets -n ${namespace}                    # refused
As max, who may ask for sudo:      export KUBECONFIG=${max.kubeconfig}
  curl -s -X POST -H 'Authorization: Bearer ${max.token}' -H 'Content-Type: application/json' \\
      -d '{"ttlSeconds": 60, "reason": "I want to see"}' ${url}/tenants/v1/${namespace}/sudo
  kubectl sudo get secrets -n ${namespace}
  kubectl get lns ${namespace} -o jsonpath='{.status.grants}'
`
}
