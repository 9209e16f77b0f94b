/** Output of the demo once everything runs. */
import { configSchema } from '../../src/config/schema.ts'
import type { Stack } from '../stack/stack.ts'
import type { DemoLab } from './lab.ts'

/** Duration of the parts in seconds; null for a part that was not done. */
export interface DemoSeconds {
  readonly setup: number
  readonly spawn: number | null
  readonly delete: number | null
}

interface ReportedReplica {
  readonly pid: number
  readonly url: string
  /** Address of readiness and metrics. */
  readonly monitoringUrl: string
}

/** The one JSON object of `--json`. */
export interface DemoReport {
  readonly url: string
  /** An administrator's kubeconfig, for looking around. */
  readonly kubeconfig: string
  readonly redis: string
  readonly replicas: readonly ReportedReplica[]
  readonly users: Readonly<Record<string, { readonly token: string }>>
  /** The options of the demo's lab. */
  readonly options: Readonly<Record<string, string>> | null
  readonly lab: DemoLab | null
  readonly seconds: DemoSeconds
}

export type ReportSource = Pick<Stack, 'url'> & {
  readonly cluster: Pick<Stack['cluster'], 'kubeconfig'>
  readonly redis: Pick<Stack['redis'], 'url'>
  readonly replicas: readonly ReportedReplica[]
  readonly users: Readonly<Record<string, { readonly token: string }>>
}

export function makeReport(stack: ReportSource, what: Pick<DemoReport, 'options' | 'lab' | 'seconds'>): DemoReport {
  return {
    url: stack.url,
    kubeconfig: stack.cluster.kubeconfig,
    redis: stack.redis.url,
    replicas: stack.replicas.map(({ pid, url, monitoringUrl }) => ({ pid, url, monitoringUrl })),
    users: Object.fromEntries(Object.entries(stack.users).map(([name, { token }]) => [name, { token }])),
    ...what,
  }
}

/** Addresses, and commands to try, for a person. */
export function formatGuide(report: DemoReport, kubectl: string): string {
  const { url, lab, users, replicas, kubeconfig, redis } = report
  const api = `${url}/nublado/spawner/v1`
  const as = (name: string) => `-H 'Authorization: Bearer ${users[name]?.token}'`
  const json = `-H 'Content-Type: application/json' -d '{"options": {"image_type": "recommended", "size": "small"}}'`
  const [first] = replicas
  const pairs = replicas.map(({ monitoringUrl, pid }) => `${monitoringUrl},${pid}`).join(' ')
  return `
The lab of ada     ${lab ? formatLab(lab) : 'none was asked for'}
The API            ${api}
Replicas           ${replicas.map(replica => `${replica.url} (pid ${replica.pid})`).join('\n                   ')}
Redis              ${redis}
Kubernetes         export KUBECONFIG=${kubeconfig}

Look:
  curl -s ${as('ada')} ${api}/user-status
  curl -sN ${as('ada')} ${api}/labs/ada/events
  curl -s ${as('admin')} ${api}/labs
  curl -s ${first?.monitoringUrl}/metrics
  ${kubectl} --kubeconfig ${kubeconfig} get pods -A
Another lab, and its end:
  curl -si ${as('grace')} ${json} ${api}/labs/grace/create
  curl -sN ${as('grace')} ${api}/labs/grace/events
  curl -si -X DELETE ${as('admin')} ${api}/labs/grace
Kill the replica that makes a lab, right after the create. Another one goes on within ${takeOverSeconds} s; it comes back after 2 s:
  for each in ${pairs}; do curl -s \${each%,*}/metrics | grep -q '^skylab_replica_operations{.*} [1-9]' && kill -9 \${each#*,}; done
`
}

/** The lease of a dead owner has to run out first. */
const takeOverSeconds = configSchema.parse({}).engine.leaseTtlMs / 1000

/** How to end the demo. npm passes signals on to its program; a background job of a shell gets no Ctrl-C. */
export const howToEnd = (pid = process.pid) => `Ctrl-C ends it all. In the background: kill ${pid}`

/** State and address of a lab, and whether it answers. */
export function formatLab({ status, internal_url, http }: DemoLab): string {
  const answer =
    http === null ? 'not asked: no real pod runs there, or its address is out of reach' : `/api answers ${http}`
  return `${status} at ${internal_url} (${answer})`
}
