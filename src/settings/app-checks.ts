/** Checks of the block `apps`, for a process that serves apps: what no API server would accept, or what lets much happen. */
import { isShareable } from '../apps/shares.ts'
import { parseQuantity } from '../base/quantity.ts'
import type { AppsConfig } from '../config/apps.ts'
import type { Config } from '../config/schema.ts'
import { appDomainProblems, appDomainWarnings } from './app-domain-checks.ts'
import { quotaProblems } from './tenant-checks.ts'

export const servesApps = ({ run }: Pick<Config, 'run'>): boolean => run.includes('apps')

/** Whether a process for apps answers requests, and so must know who asks. */
export const servesAppsRest = (config: Pick<Config, 'run' | 'apps'>): boolean =>
  servesApps(config) && config.apps.rest !== undefined

type Group = AppsConfig['groups'][string]

/** @returns one line for each setting that cannot work */
export function appProblems({ apps, kubernetes }: Config): string[] {
  const groups = Object.entries(apps.groups)
  return [
    ...publicUrlProblems(apps.publicUrl),
    ...appDomainProblems('apps', apps),
    ...(Object.hasOwn(apps.instanceTypes, apps.defaultInstanceType)
      ? []
      : [`apps.defaultInstanceType: apps.instanceTypes has no ${apps.defaultInstanceType}`]),
    ...Object.entries(apps.instanceTypes).flatMap(typeProblems),
    ...groups.flatMap(([name, group]) => groupProblems(`apps.groups.${name}`, group, kubernetes.namespace)),
    ...uncountedShares(groups),
  ]
}

function publicUrlProblems(publicUrl: string | undefined): string[] {
  if (publicUrl === undefined) return []
  const { origin } = new URL(publicUrl)
  const isBare = publicUrl === origin || publicUrl === `${origin}/`
  return isBare ? [] : ['apps.publicUrl: has more than scheme, host and port']
}

function typeProblems([name, { limits, requests }]: readonly [string, AppsConfig['instanceTypes'][string]]): string[] {
  const problem = (what: 'cpu' | 'memory' | 'storage') => {
    const [asked, most] = [requests?.[what], limits[what]]
    return asked !== undefined && most !== undefined && asked > most
      ? [`apps.instanceTypes.${name}.requests.${what}: is more than its limit, so every pod would be refused`]
      : []
  }
  return (['cpu', 'memory', 'storage'] as const).flatMap(problem)
}

function groupProblems(key: string, { namespace, volume, volumes, quota }: Group, own: string | undefined): string[] {
  // Its policy refuses objects there (k8s/components/apps/fence.yaml).
  const isClosed = namespace.startsWith('kube-') || namespace === own
  return [
    ...(isClosed
      ? [
          `${key}.namespace: is the controller’s own namespace, or one of the cluster itself: its policy refuses apps there`,
        ]
      : []),
    ...(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)
      ? []
      : [`${key}.namespace: not the name of a namespace`]),
    ...pathProblems(key, volume, volumes),
    ...quotaFaults(`${key}.quota`, quota),
  ]
}

/** What is in the place of another cannot be mounted. */
function pathProblems(key: string, volume: Group['volume'], volumes: Group['volumes']): string[] {
  const mounts = [
    ...(volume ? [[`${key}.volume.path`, volume.path] as const] : []),
    ...volumes.map(({ path }, index) => [`${key}.volumes.${index}.path`, path] as const),
  ]
  return mounts.flatMap(([place, path], index) => {
    const other = mounts.slice(0, index).find(([, each]) => each === path)
    if (other) return [`${place}: is ${other[0]} too`]
    if (/(^|\/)\.\.?(\/|$)/.test(path)) return [`${place}: has a part . or ..`]
    return path === '/phapplications' || path.startsWith('/phapplications/')
      ? [`${place}: is where apps have their own folders`]
      : []
  })
}

function quotaFaults(key: string, quota: Group['quota']): string[] {
  const isQuantity = (value: string | number) => {
    try {
      return parseQuantity(value) >= 0
    } catch {
      return false
    }
  }
  const bad = Object.entries(quota).filter(([, value]) => !isQuantity(value))
  if (bad.length > 0) return bad.map(([name]) => `${key}.${name}: not a Kubernetes quantity`)
  return quotaProblems(key, Object.fromEntries(Object.entries(quota).map(([name, value]) => [name, String(value)])))
}

type Groups = readonly (readonly [string, Group])[]

const sharesNamespace = (groups: Groups, [name, { namespace }]: Groups[number]): boolean =>
  groups.some(([other, each]) => other !== name && each.namespace === namespace)

/** In a namespace of several groups no ResourceQuota counts. */
function uncountedShares(groups: Groups): string[] {
  const shared = groups.filter(each => sharesNamespace(groups, each))
  return shared.flatMap(([name, { quota }]) =>
    Object.keys(quota)
      .filter(each => !isShareable(each))
      .map(each => `apps.groups.${name}.quota.${each}: is not counted in a namespace that several groups share`),
  )
}

/** Their apps cannot use Secrets and claims, but people with rights in the namespace can. */
function sharedNamespaces(groups: Groups): string[] {
  return groups.flatMap(([name, { namespace }], index) => {
    const other = groups.slice(0, index).find(([, each]) => each.namespace === namespace)
    return other
      ? [
          `apps.groups.${name}.namespace: is that of the group ${other[0]} too: whoever may write PhApplications there chooses the group, and its quota and volumes`,
        ]
      : []
  })
}

/** @returns warnings: permitted settings that an operator should know about */
export function appWarnings({ apps, kubernetes, tenants }: Config): string[] {
  const names = Object.keys(apps.groups)
  return [
    ...(kubernetes.requirePolicy
      ? []
      : ['kubernetes.requirePolicy: is false, so a stolen token of this account is worth every namespace']),
    ...(apps.publicUrl === undefined
      ? ['apps.publicUrl: is missing, so apps know no PRIMEHUB_URL, and their status has no address']
      : []),
    ...(apps.publicUrl?.startsWith('http:')
      ? ['apps.publicUrl: is http://, so everything can be read on its way']
      : []),
    ...appDomainWarnings('apps', apps),
    ...sharedNamespaces(Object.entries(apps.groups)),
    ...(names.length > 1 && apps.appDomain === undefined
      ? [
          'apps.groups: are several, whose apps share one origin: a script of one app can open another as its visitor (docs/apps-operators.md)',
        ]
      : []),
    ...(tenants.rest?.usernameTemplate === undefined
      ? [
          'tenants.rest.usernameTemplate: is missing, so a start that is asked for at a gateway is not checked against the users of an LNamespace again',
        ]
      : []),
  ]
}
