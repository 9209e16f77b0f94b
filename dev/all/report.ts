/** The report of the demo of everything at once, and its demands. */
import { prefixes } from '../../src/api/dispatch/parts.ts'

/** One thing that somebody left alone, until it was stopped. */
export interface Left {
  readonly workload: 'lab' | 'app'
  /** Whether events have warned its people before the stop. */
  readonly warned: boolean
  readonly stopped: boolean
  readonly why: string
  /** Seconds after it was left alone. */
  readonly afterSeconds: number
}

/** A line of the bill: what one container has cost. */
export interface Amount {
  readonly container: string
  readonly type: string
  readonly seconds: number
  readonly cost: number
}

/** Of a ResourceQuota: what is used of what, by name. */
export type Quota = Readonly<Record<string, { readonly used: string; readonly hard: string }>>

export interface AllFacts {
  readonly tenant: { readonly name: string; readonly seconds: number }
  readonly app: {
    readonly url: string
    /** Statuses of its page: for grace, who works in the tenant, and for max. */
    readonly member: number
    readonly stranger: number
    readonly seconds: number
  }
  readonly lab: { readonly status: string; readonly http: number | null; readonly seconds: number }
  readonly container: {
    readonly uuid: string
    readonly tenant: string
    readonly machine: string
    readonly state: string
    readonly exitCode: number | null
    /** As REST shows it. */
    readonly cost: number
    /** Of the machine, in the cloud: who pays. */
    readonly tags: Readonly<Record<string, string>>
    readonly seconds: number
  }
  readonly idle: readonly Left[]
  readonly quota: { readonly running: Quota; readonly stopped: Quota }
  readonly bill: {
    readonly tenant: string
    /** The payer, as `KEY=VALUE`. */
    readonly paidBy: readonly string[]
    readonly machines: readonly Amount[]
    readonly total: number
  }
}

/** What is there after ada deleted the tenant and the demo ended. */
export interface Remains {
  /** Of the cluster: namespaces and roles of tenants, and of labs. */
  readonly objects: readonly string[]
  /** Of the cloud. */
  readonly machines: number
  /** Rows that say who pays. The bill of what was used stays. */
  readonly rows: number
  readonly amounts: number
}

/** The one JSON object of `--json`. */
export interface AllReport extends AllFacts {
  readonly url: string
  /** Of each other capability. */
  readonly urls: Readonly<Record<'tenants' | 'apps' | 'gateway' | 'dispatch', string>>
  readonly kubeconfig: string
  readonly people: Readonly<Record<string, { readonly token: string; readonly kubeconfig: string }>>
  readonly processes: readonly { readonly name: string; readonly pid: number }[]
  /** Null while the demo is up. */
  readonly remains: Remains | null
  readonly seconds: { readonly setup: number; readonly story: number; readonly delete: number | null }
}

/** @throws at the first fact that is not as the story says */
export function requireFacts({ app, lab, container, idle, quota, bill, tenant }: AllFacts): void {
  const demand = (isSo: boolean, words: string) => {
    if (!isSo) throw new Error(words)
  }
  demand(app.member === 200, `the app answers grace by ${app.member}`)
  demand(app.stranger === 403, `the app answers max, who is a stranger, by ${app.stranger}`)
  demand(lab.status === 'running' && lab.http === 200, `the lab is ${lab.status}, and answers by ${lab.http}`)
  demand(container.tenant === tenant.name, `${container.uuid} counts for the tenant ${container.tenant}`)
  demand(container.state === 'Complete' && container.exitCode === 0, `${container.uuid} is ${container.state}`)
  demand(container.cost > 0, `${container.uuid} has cost nothing`)
  for (const row of bill.paidBy) {
    const [key = '', value] = row.split('=')
    demand(container.tags[key] === value, `the tags of ${container.machine} do not say ${row}`)
  }
  for (const { workload, warned, stopped } of idle) {
    demand(stopped, `the ${workload} was left alone, and runs`)
    demand(warned, `the ${workload} was stopped without a warning`)
  }
  demand(idle.length === 2, `${idle.length} of lab and app were left alone`)
  demand(quota.running.pods?.used === '1', `the quota counts ${quota.running.pods?.used} pods while the app runs`)
  demand(quota.stopped.pods?.used === '0', `the quota counts ${quota.stopped.pods?.used} pods of a stopped app`)
  const lines = bill.machines.filter(({ container: uuid }) => uuid === container.uuid)
  demand(bill.machines.length === 1 && lines.length === 1, `the bill has ${bill.machines.length} lines for 1 container`)
  demand(lines[0]!.cost === container.cost, `the bill has ${lines[0]!.cost}, and REST ${container.cost}`)
  demand(bill.total === container.cost, `the sum of the bill is ${bill.total}`)
}

/** @throws where something stayed that must not, or an amount went with its tenant */
export function requireRemains({ objects, machines, rows, amounts }: Remains): void {
  const left = [
    ...objects,
    ...(machines > 0 ? [`${machines} machines`] : []),
    ...(rows > 0 ? [`${rows} rows of the bill`] : []),
  ]
  if (left.length > 0) throw new Error(`left: ${left.join(', ')}`)
  if (amounts !== 1) throw new Error(`${amounts} amounts are billed after the end of the tenant, and 1 was used`)
}

/** `pods 1 of 4, requests.cpu 100m of 1` */
export const renderQuota = (quota: Quota): string =>
  Object.entries(quota)
    .map(([name, { used, hard }]) => `${name} ${used} of ${hard}`)
    .join(', ')

/** The one bill: who pays, what of the quota is in use, and what machines have cost. */
export function renderBill({ bill, quota }: Pick<AllFacts, 'bill' | 'quota'>): string {
  const rows: (readonly [string, string])[] = [
    ['tenant', bill.tenant],
    ['paid by', bill.paidBy.join(', ')],
    ['quota, while the app ran', renderQuota(quota.running)],
    ['quota, now', renderQuota(quota.stopped)],
    ...bill.machines.map(({ container, type, seconds, cost }) => {
      return [`machine (${type})`, `${container}: ${seconds} s, ${cost}`] as const
    }),
    ['machines together', `${bill.total}`],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n')
}

/** Addresses, and commands to try, for a person. */
export function formatAllGuide({ url, urls, kubeconfig, people, app }: AllReport, kubectl: string): string {
  const as = (name: string) => `-H 'Authorization: Bearer ${people[name]?.token}'`
  const json = `-H 'Content-Type: application/json'`
  const body = `'{"command": ["sleep", "5"], "runtime_constraints": {"vcpus": 1, "ram": 1073741824}}'`
  return `
Labs               ${url}/nublado/spawner/v1
Tenants            ${urls.tenants}/tenants/v1
Apps               ${app.url}     (log in by grace's token: ${people.grace?.token})
Containers         ${urls.dispatch}${prefixes.user}
Kubernetes         export KUBECONFIG=${kubeconfig}     # as administrator

The tenant, its quota and its app:
  ${kubectl} --kubeconfig ${kubeconfig} get lns,resourcequotas,phapplications -A
Its app again, by grace:
  ${kubectl} --kubeconfig ${people.grace?.kubeconfig} patch phapplication hello -n blue --type=merge -p '{"spec":{"stop":false}}'
Another lab, and another container, by ada:
  curl -s ${as('ada')} ${json} -d '{"options": {"image_type": "recommended", "size": "small"}}' ${url}/nublado/spawner/v1/labs/ada/create
  curl -s ${as('ada')} ${json} -d ${body} ${urls.dispatch}${prefixes.user}/containers
`
}
