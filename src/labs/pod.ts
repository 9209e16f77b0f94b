/** The pod of a lab: what Pod Security calls restricted, with the user's identity and files. Pure. */
import type { Config } from '../config/schema.ts'
import type { Identity, Resources } from '../domain.ts'
import { formatBytes, formatCpu } from '../kube/quantity.ts'
import type { LabChoice } from './choose.ts'
import { labPort } from './env.ts'
import type { LabNames } from './names.ts'

/** What a pod is made of. */
export interface PodSources {
  readonly lab: Config['lab']
  /** How long the start-up probe may fail. */
  readonly spawnTimeoutSeconds: number
  readonly names: LabNames
  readonly identity: Pick<Identity, 'groups'>
  readonly choice: LabChoice
  /** Image reference. */
  readonly image: string
  /** Path under which the lab answers; begins and ends with a slash. */
  readonly servicePrefix: string
  /** Absolute path. */
  readonly home: string
}

export const containerName = 'lab'
const portName = 'http'

/** The `spec` of a lab's Pod (SQR-066, "Pod configuration"). */
export function podSpec(sources: PodSources): object {
  const { lab } = sources
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: 'OnFailure',
    terminationGracePeriodSeconds: lab.terminationGraceSeconds,
    ...(Object.keys(lab.nodeSelector).length > 0 && { nodeSelector: lab.nodeSelector }),
    ...(lab.tolerations.length > 0 && { tolerations: lab.tolerations }),
    securityContext: podSecurity(sources),
    volumes: volumes(sources.names),
    containers: [container(sources)],
  }
}

/** The group owner of volumes is the user's primary one: so the files of secrets are theirs to read. */
function podSecurity({ choice: { uid, gid }, identity }: PodSources): object {
  const ids = identity.groups.flatMap(group => (group.id === undefined || group.id === gid ? [] : [group.id]))
  return {
    runAsUser: uid,
    runAsGroup: gid,
    runAsNonRoot: true,
    fsGroup: gid,
    supplementalGroups: [...new Set(ids)],
    seccompProfile: { type: 'RuntimeDefault' },
  }
}

function container({ lab, names, choice, image, servicePrefix, home, spawnTimeoutSeconds }: PodSources): object {
  return {
    name: containerName,
    image,
    imagePullPolicy: lab.imagePullPolicy,
    command: lab.command,
    workingDir: home,
    envFrom: [{ configMapRef: { name: names.env } }, { secretRef: { name: names.env } }],
    ports: [{ name: portName, containerPort: labPort, protocol: 'TCP' }],
    resources: {
      limits: quantities(choice.quotas.limits),
      requests: quantities(choice.quotas.requests),
    },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    ...startupProbe(lab.startupProbe, servicePrefix, spawnTimeoutSeconds),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'home', mountPath: home },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'nss', mountPath: '/etc/passwd', subPath: 'passwd', readOnly: true },
      { name: 'nss', mountPath: '/etc/group', subPath: 'group', readOnly: true },
      { name: 'secrets', mountPath: lab.secretsPath, readOnly: true },
    ],
  }
}

function volumes(names: LabNames): object[] {
  return [
    { name: 'home', emptyDir: {} },
    { name: 'tmp', emptyDir: {} },
    { name: 'nss', configMap: { name: names.nss, defaultMode: 0o444 } },
    // The kubelet adds the group's right to read, for root owns the files.
    { name: 'secrets', secret: { secretName: names.lab, defaultMode: 0o400 } },
  ]
}

function quantities({ cpu, memory }: Resources): object {
  return { cpu: formatCpu(cpu), memory: formatBytes(memory) }
}

/** Asked each second, since users wait for it; never given up before the creation itself is. */
function startupProbe(kind: Config['lab']['startupProbe'], servicePrefix: string, timeoutSeconds: number): object {
  if (kind === 'none') return {}
  const check =
    kind === 'http' ? { httpGet: { path: `${servicePrefix}api`, port: portName } } : { tcpSocket: { port: portName } }
  const times = { periodSeconds: 1, timeoutSeconds: 5, failureThreshold: Math.ceil(timeoutSeconds) }
  return { startupProbe: { ...check, ...times } }
}
