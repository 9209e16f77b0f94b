/**
 * Settings that admission and the controller share. The configuration is their source: `skylab rights` makes a ClusterRole of
 * them, whose rules the policy `skylab-tenants-names` reads. No API has the resources of these rules. Pure.
 */
import type { KubeObject } from '../base/domain.ts'
import { asObjects, asText } from '../base/json.ts'
import { podSecurityLevels } from '../config/tenants.ts'
import type { TenantSettings } from './spec.ts'
import { rbacGroup, rbacVersion } from './words.ts'

/** The ClusterRole; it is bound to nobody. */
export const settingsRole = 'skylab-tenants-settings'
/** Name of the controller's ServiceAccount, of its ClusterRole and of the binding. The policies use it. */
export const tenantsAccount = 'skylab-tenants'

const policyGroup = 'skylab.dev'
/** Its names are those of the one installation that serves tenants. */
const servingInstallations = 'installations'

/** The settings from which all of these follow. */
export type SharedSettings = Pick<TenantSettings, 'installation' | 'ownNamespace' | 'tenants'>

export interface Reserved {
  readonly names: readonly string[]
  /** Beginnings of names. */
  readonly prefixes: readonly string[]
}

/** Names that no tenant may have, beside those of labs, which admission knows by their own roles. */
export function reservedIn({ ownNamespace, tenants }: SharedSettings): Reserved {
  const [prefixes, names] = [true, false].map(isPrefix =>
    tenants.reserved.filter(entry => entry.endsWith('*') === isPrefix),
  ) as [string[], string[]]
  return {
    names: [...ownNames, ownNamespace, ...names],
    prefixes: [...ownPrefixes, ...prefixes.map(entry => entry.slice(0, -1))],
  }
}

/** Names of the cluster itself. */
const ownNames = ['default', 'kube']
const ownPrefixes = ['kube-']

/** Names by resource, as the role has them. */
function wantedNames(settings: SharedSettings): Readonly<Record<string, readonly string[]>> {
  const { labelPrefixes, laxestPodSecurity } = settings.tenants
  const { names, prefixes } = reservedIn(settings)
  return {
    [servingInstallations]: [settings.installation],
    reservednames: unique(names),
    reservedprefixes: unique(prefixes),
    labelprefixes: unique(labelPrefixes),
    billinggroups: billingGroups(settings.tenants),
    podsecurity: podSecurityLevels.slice(podSecurityLevels.indexOf(laxestPodSecurity)),
  }
}

/** Groups that defaults of billing name: admission notes which of them a requester has. */
export const billingGroups = ({ billing }: Pick<TenantSettings['tenants'], 'billing'>): readonly string[] =>
  unique((billing?.defaults ?? []).flatMap(({ groups }) => groups))

const unique = (names: readonly string[]): readonly string[] => [...new Set(names)]

/**
 * The objects that an operator applies to the cluster: the settings, and the rights of the controller's account.
 * @param settings `ownNamespace` is that of the account
 */
export function renderTenantRights(settings: SharedSettings): KubeObject[] {
  const rules = Object.entries(wantedNames(settings)).flatMap(([resource, resourceNames]) =>
    // A rule without names would mean all of them.
    resourceNames.length === 0
      ? []
      : [{ apiGroups: [policyGroup], resources: [resource], resourceNames, verbs: ['use'] }],
  )
  return [
    { apiVersion: rbacVersion, kind: 'ClusterRole', metadata: { name: settingsRole }, rules },
    {
      ...{ apiVersion: rbacVersion, kind: 'ClusterRoleBinding', metadata: { name: tenantsAccount } },
      roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: tenantsAccount },
      subjects: [{ kind: 'ServiceAccount', name: tenantsAccount, namespace: settings.ownNamespace }],
    },
  ]
}

/** The difference of the cluster's role from the settings, in words; undefined without one. */
export function settingsProblem(settings: SharedSettings, role: KubeObject | null): string | undefined {
  if (!role) return `there is no ClusterRole ${settingsRole}: ${remedy}`
  if (isServedElsewhere(settings, role)) {
    const names = namesIn(role, servingInstallations).join(', ')
    return `${elsewhere}: the ClusterRole ${settingsRole} names ${names}, and this one is ${settings.installation}`
  }
  const differences = Object.entries(wantedNames(settings)).flatMap(([resource, wanted]) => {
    const found = namesIn(role, resource)
    const only = (where: string, names: readonly string[], others: readonly string[]) => {
      const some = names.filter(name => !others.includes(name))
      return some.length === 0 ? [] : [`${resource} ${some.join(', ')} only in ${where}`]
    }
    return [...only('the configuration', wanted, found), ...only('the role', found, wanted)]
  })
  if (differences.length === 0) return undefined
  return `the ClusterRole ${settingsRole} is not as configured (${differences.join('; ')}): ${remedy}`
}

/**
 * Whether the role gives the tenants of the cluster to another installation. LNamespaces are one set, so two would write
 * against each other: one of them writes nothing.
 */
export const isServedElsewhere = ({ installation }: Pick<SharedSettings, 'installation'>, role: KubeObject | null) =>
  role !== null && namesIn(role, servingInstallations).some(name => name !== installation)

export const elsewhere = 'another installation serves the tenants of this cluster'

const remedy = 'apply what `skylab rights` prints'

/** As the policy reads them. */
const namesIn = ({ rules }: KubeObject, resource: string): readonly string[] =>
  asObjects(rules)
    .filter(rule => hasText(rule.apiGroups, policyGroup) && hasText(rule.resources, resource))
    .flatMap(({ resourceNames }) => (Array.isArray(resourceNames) ? resourceNames.map(asText) : []))

const hasText = (list: unknown, text: string): boolean => Array.isArray(list) && list.includes(text)
