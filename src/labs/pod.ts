/** The pod of a lab: restricted as by Pod Security, with the user's identity and files. Pure. */

import type { Identity } from '../base/domain.ts'
import type { Config } from '../config/schema.ts'
import type { LabChoice } from './choose.ts'
import { labPort } from './env.ts'
import type { LabNames } from './names.ts'
import { provisionContainer } from './provision.ts'
import { containerResources } from './quota.ts'
import { labMounts, type MountSources, podVolumes, provisionMounts } from './volumes.ts'

/** The inputs of a pod. */
export interface PodSources {
  readonly lab: Config['lab']
  /** How long the start-up probe may fail. */
  readonly spawnTimeoutSeconds: number
  readonly names: LabNames
  readonly identity: Pick<Identity, 'username' | 'groups' | 'quota'>
  readonly choice: LabChoice
  /** Image reference. */
  readonly image: string
  /** Path under which the lab answers; begins and ends with a slash. */
  readonly servicePrefix: string
  readonly mounted: MountSources
}

export const containerName = 'lab'
const portName = 'http'

/** The `spec` of a lab's Pod (SQR-066, "Pod configuration"). No container has its own `env`. */
export function podSpec(sources: PodSources): object {
  const { lab, names, mounted } = sources
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: 'OnFailure',
    terminationGracePeriodSeconds: lab.terminationGraceSeconds,
    ...(lab.hostUsers !== undefined && { hostUsers: lab.hostUsers }),
    ...(lab.runtimeClassName !== undefined && { runtimeClassName: lab.runtimeClassName }),
    ...(Object.keys(lab.nodeSelector).length > 0 && { nodeSelector: lab.nodeSelector }),
    ...(Object.keys(lab.affinity).length > 0 && { affinity: lab.affinity }),
    ...(lab.tolerations.length > 0 && { tolerations: lab.tolerations }),
    ...(lab.secrets.some(({ pull }) => pull) && { imagePullSecrets: [{ name: names.pull }] }),
    securityContext: podSecurity(sources),
    volumes: podVolumes(mounted),
    ...initContainers(sources),
    containers: [container(sources)],
  }
}

/**
 * The group owner of volumes is the user's primary group, so that the user can read the files of secrets. The policy
 * OnRootMismatch spares the kubelet a walk through every file of a claim before each start, which takes minutes for a
 * home with a million files. The kubelet creates the files of secrets itself, so the policy does not affect their
 * owner.
 */
function podSecurity({ choice: { uid, gid }, identity }: PodSources): object {
  const ids = identity.groups.flatMap(group => (group.id === undefined || group.id === gid ? [] : [group.id]))
  return {
    runAsUser: uid,
    runAsGroup: gid,
    runAsNonRoot: true,
    fsGroup: gid,
    fsGroupChangePolicy: 'OnRootMismatch',
    supplementalGroups: [...new Set(ids)],
    seccompProfile: { type: 'RuntimeDefault' },
  }
}

function initContainers({ names, mounted, identity, choice }: PodSources): object {
  const { provisioning, home } = mounted
  if (!provisioning) return {}
  const mounts = provisionMounts(mounted)
  return { initContainers: [provisionContainer(provisioning, names, mounts, { identity, choice, home })] }
}

function container({ lab, names, choice, image, servicePrefix, mounted, spawnTimeoutSeconds }: PodSources): object {
  return {
    name: containerName,
    image,
    imagePullPolicy: lab.imagePullPolicy,
    command: lab.command,
    workingDir: mounted.home,
    envFrom: [{ configMapRef: { name: names.env } }, { secretRef: { name: names.env } }],
    ports: [{ name: portName, containerPort: labPort, protocol: 'TCP' }],
    resources: containerResources(choice.quotas, choice.storage),
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    ...startupProbe(lab.startupProbe, servicePrefix, spawnTimeoutSeconds),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: labMounts(mounted),
  }
}

/** Probes every second, since users wait for the result, and fails no earlier than the creation itself. */
function startupProbe(kind: Config['lab']['startupProbe'], servicePrefix: string, timeoutSeconds: number): object {
  if (kind === 'none') return {}
  const check =
    kind === 'http' ? { httpGet: { path: `${servicePrefix}api`, port: portName } } : { tcpSocket: { port: portName } }
  const times = { periodSeconds: 1, timeoutSeconds: 5, failureThreshold: Math.ceil(timeoutSeconds) }
  return { startupProbe: { ...check, ...times } }
}
