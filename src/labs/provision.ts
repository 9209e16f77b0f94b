/** The init container that prepares a user's files before their first lab (SQR-066, "User provisioning"). Pure. */

import type { Identity, Quotas } from '../base/domain.ts'
import type { Config } from '../config/schema.ts'
import type { LabChoice } from './choose.ts'
import type { LabNames } from './names.ts'
import { containerResources, isCounted, quotasOf, type Storage, storageOf, withinQuota } from './quota.ts'
import type { VolumeMount } from './volumes.ts'

export type Provisioning = NonNullable<Config['lab']['provisioning']>

/** Name of the init container. */
export const provisionContainerName = 'provision'

/** The user to prepare for, and the lab's configuration. */
export interface ProvisionSources {
  readonly identity: Pick<Identity, 'username' | 'groups' | 'quota'>
  readonly choice: LabChoice
  /** Absolute path. */
  readonly home: string
}

/**
 * Capabilities that a root container keeps to make folders for others: to own them, to enter them, to set their modes
 * and, where an NFS server squashes root, to become their user. They apply to mounted folders only.
 */
export const rootCapabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID']

/**
 * Variables that the container always gets. The last three serve containers made for other programs of this
 * specification.
 */
export const givenVariables = [
  'SKYLAB_USER',
  'SKYLAB_UID',
  'SKYLAB_GID',
  'SKYLAB_HOME',
  'SKYLAB_GROUPS',
  'NUBLADO_UID',
  'NUBLADO_GID',
  'NUBLADO_HOME',
] as const

/** The variables of the container: configured ones, and those that it always gets. HOME may be configured. */
export function provisionEnv(configured: Provisioning['env'], sources: ProvisionSources): Record<string, string> {
  const { identity, choice, home } = sources
  const uid = String(choice.uid)
  const gid = String(choice.gid)
  const groups = identity.groups.flatMap(({ name, id }) => (id === undefined ? [] : [`${name}:${id}`]))
  const given: Record<(typeof givenVariables)[number], string> = {
    SKYLAB_USER: identity.username,
    SKYLAB_UID: uid,
    SKYLAB_GID: gid,
    SKYLAB_HOME: home,
    SKYLAB_GROUPS: [...new Set(groups)].join(','),
    NUBLADO_UID: uid,
    NUBLADO_GID: gid,
    NUBLADO_HOME: home,
  }
  return { HOME: home, ...configured, ...given }
}

/** The init container. It sets no working folder: the runtime would create a missing one as root. */
export function provisionContainer(
  provisioning: Provisioning,
  names: LabNames,
  mounts: readonly VolumeMount[],
  sources: ProvisionSources,
): object {
  const { image, imagePullPolicy, command, args } = provisioning
  return {
    name: provisionContainerName,
    image,
    imagePullPolicy,
    ...(command && { command }),
    ...(args && { args }),
    envFrom: [{ configMapRef: { name: names.provision } }],
    resources: containerResources(quotasFor(provisioning, sources), provisionStorage(provisioning, sources.choice)),
    securityContext: securityOf(provisioning),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: mounts,
  }
}

/** If a user has a quota, the cluster refuses pods with a container that has no resources. */
function quotasFor({ resources }: Provisioning, { identity: { quota }, choice }: ProvisionSources): Quotas | undefined {
  if (resources) return withinQuota(quotasOf(resources), quota)
  return isCounted(quota) ? choice.quotas : undefined
}

/** The container may fill as much disk as the lab, unless configured otherwise. */
export function provisionStorage({ resources }: Provisioning, { storage }: Pick<LabChoice, 'storage'>): Storage {
  return resources ? storageOf(resources, storage.limit) : { limit: storage.limit, request: 0 }
}

/** The pod's own, which is the user's, unless configured otherwise. */
function securityOf({ runAsRoot, privileged }: Provisioning): object {
  const user = runAsRoot ? { runAsUser: 0, runAsGroup: 0, runAsNonRoot: false } : {}
  // Kubernetes refuses a privileged container without privilege escalation.
  if (privileged) return { ...user, privileged: true, allowPrivilegeEscalation: true }
  const capabilities = { drop: ['ALL'], ...(runAsRoot && { add: rootCapabilities }) }
  return { ...user, allowPrivilegeEscalation: false, capabilities }
}
