/** Compares the rights that files of k8s grant to an account with those used, as the API server's audit log shows. */
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { appsAccount } from '../../src/apps/probe.ts'
import { accountName, cpuRole, idleRole, labRole } from '../../src/labs/rights.ts'
import { tenantsAccount } from '../../src/tenants/settings.ts'
import { notebooksAccount } from './notebooks.ts'

/** The features that a process can serve, each with an account of its own. */
export const served = ['labs', 'tenants', 'notebooks', 'apps'] as const
export type Served = (typeof served)[number]

const accountOf = (name: string) => `system:serviceaccount:skylab:${name}`
const accounts: Readonly<Record<Served, string>> = {
  labs: accountOf(accountName),
  tenants: accountOf(tenantsAccount),
  // Each fleet of the tests has one in its own namespace.
  notebooks: `:${notebooksAccount}`,
  apps: `:${appsAccount}`,
}
const isAccountOf = (what: Served, username: string | undefined) =>
  accounts[what].startsWith(':') ? username?.endsWith(accounts[what]) : username === accounts[what]
const files: Readonly<Record<Served, URL>> = {
  labs: new URL('../../k8s/base/rbac.yaml', import.meta.url),
  tenants: new URL('../../k8s/components/tenants/rbac.yaml', import.meta.url),
  notebooks: new URL('../../k8s/components/notebooks/rbac.yaml', import.meta.url),
  apps: new URL('../../k8s/components/apps/rbac.yaml', import.meta.url),
}
/** Roles that an account has in a namespace that operators choose. */
const inOneNamespace: readonly string[] = ['skylab:apps:templates']
const kept = fileURLToPath(new URL('../../.artefacts/rights', import.meta.url))
const folderOf = (what: Served) => (what === 'labs' ? kept : join(kept, what))

/** Number of uses of each right, as `group/resource verb`. */
export type Usage = Readonly<Record<string, number>>

interface AuditLine {
  readonly verb: string
  readonly userAgent?: string
  readonly impersonatedUser?: object
  readonly user?: { readonly username?: string }
  readonly objectRef?: { readonly apiGroup?: string; readonly resource?: string; readonly subresource?: string }
  readonly annotations?: Readonly<Record<string, string>>
}

/** The right that allowed a request of a controller's account; undefined for other requests. */
export function rightOf(line: string, what: Served = 'labs'): string | undefined {
  const account = accounts[what]
  if (!line.includes(account)) return undefined
  const { verb, user, userAgent, impersonatedUser, objectRef, annotations } = JSON.parse(line) as AuditLine
  const ours = isAccountOf(what, user?.username) && userAgent?.startsWith('skylab/') && !impersonatedUser
  if (!ours || !objectRef?.resource || annotations?.['authorization.k8s.io/decision'] !== 'allow') return undefined
  const { apiGroup = '', resource, subresource } = objectRef
  return `${apiGroup}/${subresource ? `${resource}/${subresource}` : resource} ${verb}`
}

/** Counts the rights in a cluster's audit log, and stores them under the name of the run for `npm run rights`. */
export async function keepRights(auditLog: string | null, name: string): Promise<void> {
  if (auditLog === null) return
  const usages: Readonly<Record<Served, Record<string, number>>> = { labs: {}, tenants: {}, notebooks: {}, apps: {} }
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    for (const what of served) {
      const right = rightOf(line, what)
      if (right) usages[what][right] = (usages[what][right] ?? 0) + 1
    }
  }
  for (const what of served) {
    // A run without tenants, notebooks or apps tells nothing about their account.
    if (what !== 'labs' && Object.keys(usages[what]).length === 0) continue
    await mkdir(folderOf(what), { recursive: true })
    await writeFile(join(folderOf(what), `${name}.json`), `${JSON.stringify(usages[what], null, 2)}\n`)
  }
}

/** The stored counts, by name. */
export async function readRights(what: Served = 'labs'): Promise<Record<string, Usage>> {
  const folder = folderOf(what)
  const names = (await readdir(folder).catch(() => [])).filter(name => name.endsWith('.json')).sort()
  const texts = await Promise.all(names.map(name => readFile(join(folder, name), 'utf8')))
  return Object.fromEntries(names.map((name, index) => [name.replace(/\.json$/, ''), JSON.parse(texts[index]!)]))
}

/** A rule of a role, as the API server has it. */
export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** All rights of some rules, as `group/resource verb`. */
export const rightsOf = (rules: readonly Rule[]): string[] =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap(group => resources.flatMap(resource => verbs.map(verb => `${group}/${resource} ${verb}`))),
  )

/** The granted rights, by their scope. */
export interface Granted {
  /** Rights in the whole cluster. */
  readonly everywhere: readonly string[]
  /** Rights in one namespace only, by its name. */
  readonly within: Readonly<Record<string, readonly string[]>>
  /** Rights in the namespaces of labs, where the controller has bound itself to read. */
  readonly inLabs: readonly string[]
  /** Rights in the whole cluster, only of installations that stop idle labs: to stamp them, and to list what pods use. */
  readonly ofIdle: readonly string[]
}

interface Role {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules: readonly Rule[]
}

/** Rights in the whole cluster, by the role that grants them. */
export async function rightsByClusterRole(): Promise<Record<string, readonly string[]>> {
  const documents = parseAllDocuments(await readFile(files.labs, 'utf8')).map(each => each.toJS() as Role)
  const roles = documents.filter(({ kind }) => kind === 'ClusterRole')
  return Object.fromEntries(roles.map(({ metadata, rules }) => [metadata.name, rightsOf(rules)]))
}

/** The granted rights, in the order of the file. */
export async function readGranted(): Promise<Granted> {
  const documents = parseAllDocuments(await readFile(files.labs, 'utf8')).map(each => each.toJS() as Role)
  const ofKind = (kind: string) => documents.filter(document => document.kind === kind)
  const rightsIn = (roles: readonly Role[]) => roles.flatMap(({ rules }) => rightsOf(rules))
  const named = (name: string) => ofKind('ClusterRole').filter(({ metadata }) => metadata.name === name)
  const ofCluster = ofKind('ClusterRole').filter(
    ({ metadata }) => ![labRole, idleRole, cpuRole].includes(metadata.name),
  )
  const byNamespace = Map.groupBy(ofKind('Role'), ({ metadata }) => metadata.namespace ?? '')
  return {
    everywhere: rightsIn(ofCluster),
    inLabs: rightsIn(named(labRole)),
    ofIdle: [...rightsIn(named(idleRole)), ...rightsIn(named(cpuRole))],
    within: Object.fromEntries([...byNamespace].map(([namespace, roles]) => [namespace, rightsIn(roles)])),
  }
}

/** All granted rights, of every scope. Accounts beside that of labs have one role, of their name; others are for people. */
export async function grantedRights(what: Served = 'labs'): Promise<string[]> {
  if (what !== 'labs') {
    const documents = parseAllDocuments(await readFile(files[what], 'utf8')).map(each => each.toJS() as Role)
    const isOwn = ({ kind, metadata: { name } }: Role) =>
      kind === 'ClusterRole' && (isAccountOf(what, accountOf(name)) || inOneNamespace.includes(name))
    return documents.filter(isOwn).flatMap(({ rules }) => rightsOf(rules))
  }
  const { everywhere, within, inLabs, ofIdle } = await readGranted()
  return [...everywhere, ...Object.values(within).flat(), ...inLabs, ...ofIdle]
}

export interface RightsReport {
  readonly table: string
  /** Rights that no run has used. */
  readonly unused: readonly string[]
}

/**
 * An admission policy asks for rights on resources that no API has, and no audit log shows that. `policy.test.ts` shows
 * that without them nothing could be created. The rights to bind and to escalate are checked when a binding or a role is
 * created.
 */
const isVirtual = (right: string): boolean => right.startsWith('skylab.dev/') || / (bind|escalate)$/.test(right)

/** One line per right: how often each run has used it. */
export function reportRights(granted: readonly string[], usages: Readonly<Record<string, Usage>>): RightsReport {
  const names = Object.keys(usages)
  const width = Math.max(...granted.map(right => right.length), 'right'.length)
  const line = (right: string, cells: readonly (string | number)[]) =>
    [right.padEnd(width), ...cells.map((cell, index) => String(cell).padStart(names[index]!.length))].join('  ')
  const rows = granted.map(right =>
    line(
      right,
      names.map(name => usages[name]![right] ?? 0),
    ),
  )
  const unused = granted.filter(right => !isVirtual(right) && names.every(name => !usages[name]![right]))
  return { table: [line('right', names), ...rows].join('\n'), unused }
}
