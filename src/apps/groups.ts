/** Which group a namespace serves: by the configuration, or an LNamespace is a group of its name. Pure. */
import type { AppsConfig } from '../config/apps.ts'

type GroupConfig = AppsConfig['groups'][string]

/** What an app has by its group. */
export interface AppGroup {
  readonly name: string
  readonly volume?: GroupConfig['volume']
  readonly volumes: GroupConfig['volumes']
  /** Whether nobody else has apps in the namespace: then its Secrets and claims are those of the group. */
  readonly isAlone: boolean
  /** Of all its apps together. Alone in its namespace, the group has a ResourceQuota there. */
  readonly quota: GroupConfig['quota']
  /** Its LNamespace says who is in it. Labs know only what the identity source says. */
  readonly isTenant?: true
}

/** Settings of all apps of an installation. */
export interface AppSettings {
  readonly apps: AppsConfig
  /** The namespace of the gateway, if the configuration names none: that of this process. */
  readonly ownNamespace: string
  /** The installation, whose labs are let in with `apps.labs`. */
  readonly installation: string
}

/**
 * The groups of a namespace. The configuration counts before an LNamespace of that name.
 * @param isTenant whether there is an LNamespace of this name
 */
export function groupsOf(namespace: string, { apps }: AppSettings, isTenant: (name: string) => boolean): AppGroup[] {
  const configured = Object.entries(apps.groups).filter(([, group]) => group.namespace === namespace)
  if (configured.length > 0) {
    return configured.map(([name, { volume, volumes, quota }]) => ({
      ...{ name, volumes, quota, isAlone: configured.length === 1 },
      ...(volume && { volume }),
    }))
  }
  return isTenant(namespace) ? [{ name: namespace, volumes: [], quota: {}, isAlone: true, isTenant: true }] : []
}

/** The namespace of a group's apps; undefined if it can have none. */
export function namespaceOf(
  group: string,
  settings: AppSettings,
  isTenant: (name: string) => boolean,
): string | undefined {
  const { groups } = settings.apps
  const namespace = Object.hasOwn(groups, group) ? groups[group]!.namespace : group
  // A group of the configuration may have the namespace of this name.
  return groupsOf(namespace, settings, isTenant).some(({ name }) => name === group) ? namespace : undefined
}
