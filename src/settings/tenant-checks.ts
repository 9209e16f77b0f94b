/** Checks of the block `tenants` for a process that serves tenants: what no API server would accept, or what lets much happen. */
import { parseQuantity } from '../base/quantity.ts'
import type { Config } from '../config/schema.ts'
import type { PlatformConfig } from '../config/tenants.ts'

type Quantities = PlatformConfig['quota']

/** @returns one line for each setting by which every namespace of a tenant would be refused */
export function tenantProblems({ tenants: { platform } }: Config): string[] {
  return [...quotaProblems('tenants.platform.quota', platform.quota), ...limitProblems(platform.limits)]
}

/** @returns warnings: permitted settings that an operator should know about */
export function tenantWarnings({ tenants, kubernetes, lab }: Config): string[] {
  const { laxestPodSecurity, platform } = tenants
  return [
    ...(kubernetes.requirePolicy
      ? []
      : ['kubernetes.requirePolicy: is false, so a stolen token of this account is worth the whole cluster']),
    ...(laxestPodSecurity === 'privileged'
      ? ['tenants.laxestPodSecurity: is privileged, so sudoers of such a namespace can become root of a node']
      : []),
    ...(Object.keys(platform.quota).length === 0
      ? ['tenants.platform.quota: is empty, so one namespace can take all that the cluster has']
      : []),
    // The installation of the labs has another file, which is not at hand.
    ...(lab.namespacePrefix === defaultLabPrefix
      ? [
          `lab.namespacePrefix: is ${defaultLabPrefix}, so LNamespaces of that name, or that begin with ${defaultLabPrefix}-, get nothing; it must be the prefix of the labs on this cluster`,
        ]
      : []),
  ]
}

const defaultLabPrefix = 'nublado'

/** What a ResourceQuota counts without a prefix. Names with a slash are resources of others, or `count/…`. */
const counted = new Set([
  ...['cpu', 'memory', 'ephemeral-storage'].flatMap(name => [name, `requests.${name}`, `limits.${name}`]),
  ...['pods', 'services', 'replicationcontrollers', 'resourcequotas', 'secrets', 'configmaps'],
  ...['persistentvolumeclaims', 'requests.storage', 'services.nodeports', 'services.loadbalancers'],
])
const ofContainers = new Set(['cpu', 'memory', 'ephemeral-storage'])
/** Counted in whole numbers. */
const isNumberOfObjects = (name: string) =>
  name.startsWith('count/') || (/^[a-z.]+$/.test(name) && !/cpu|memory|storage/.test(name))

/** @param block the key of the quota */
export function quotaProblems(block: string, quota: Quantities): string[] {
  return Object.entries(quota).flatMap(([name, value]) => {
    const key = `${block}.${name}`
    if (!isKnown(name, counted)) return [`${key}: no ResourceQuota counts this`]
    const isWhole = !isNumberOfObjects(name) || Number.isInteger(parseQuantity(value))
    return isWhole ? [] : [`${key}: not a whole number`]
  })
}

const isKnown = (name: string, names: ReadonlySet<string>): boolean =>
  name.includes('/') || name.includes('hugepages-') || names.has(name)

/** As the API server compares the parts of a LimitRange, with the defaults that it fills in. */
function limitProblems({ default: declared, defaultRequest, max }: PlatformConfig['limits']): string[] {
  const key = 'tenants.platform.limits'
  const limit = { ...max, ...declared }
  const beyond = (part: string, values: Quantities, bound: Quantities, words: string) =>
    Object.entries(values).flatMap(([name, value]) => {
      const most = bound[name]
      const isMore = most !== undefined && parseQuantity(value) > parseQuantity(most)
      return isMore ? [`${key}.${part}.${name}: is more than ${words}`] : []
    })
  const unknown = Object.entries({ default: declared, defaultRequest, max }).flatMap(([part, values]) =>
    Object.keys(values)
      .filter(name => !isKnown(name, ofContainers))
      .map(name => `${key}.${part}.${name}: is no resource of a container`),
  )
  return [
    ...unknown,
    ...beyond('default', declared, max, 'max'),
    ...beyond('defaultRequest', defaultRequest, limit, 'the limit of a container that names none'),
  ]
}
