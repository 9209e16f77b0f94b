/** Renders a plan into objects: everything that Kubernetes holds of one lab, computed at acceptance. Pure. */

import type { CreateRequest, Identity, KubeObject, LabPlan, LabView, ResolvedImage } from '../base/domain.ts'
import type { Config } from '../config/schema.ts'
import { annotations, groupKey, labels } from '../kube/labels.ts'
import type { LabChoice } from './choose.ts'
import type { LabEnv } from './env.ts'
import { labEnv, labPort, maskedEnv } from './env.ts'
import type { LabNames } from './names.ts'
import { labNames } from './names.ts'
import { networkPolicySpec } from './network.ts'
import { nssBase, nssFiles } from './nss.ts'
import { immutable, marks, objectMaker, podLabels, type Render } from './objects.ts'
import { homeOf } from './paths.ts'
import { podSpec } from './pod.ts'
import { podSecurityLabels } from './pod-security.ts'
import { provisionEnv, provisionStorage } from './provision.ts'
import { isCounted, resourceQuotaSpec } from './quota.ts'
import { type LabSources, sourceOf } from './sources.ts'
import { getsToken, requireNoAdministrator, tokenKey } from './token.ts'
import { labAddress, viewText } from './view.ts'
import { type MountSources, volumeClaims, volumeConfigMaps } from './volumes.ts'

/** The inputs of a lab. */
export interface LabInput {
  readonly config: Pick<Config, 'installation' | 'identity' | 'lab' | 'network' | 'times'>
  readonly identity: Identity
  readonly request: CreateRequest
  /** From `chooseLab`. */
  readonly choice: LabChoice
  readonly image: ResolvedImage
  readonly sources: LabSources
  /** Only of an installation that stops idle labs. */
  readonly idle?: IdleLabs | undefined
}

/** What labs of an installation that stops idle ones have beside all others. */
export interface IdleLabs {
  /** The controller's own namespace, from which it asks labs whether they are used. */
  readonly namespace: string
}

export interface RenderedLab {
  readonly plan: LabPlan
  /** The part of the lab that clients can see. The plan's namespace has the same as text. */
  readonly view: LabView
}

/** The inputs that all makers of objects share. */
interface Making extends LabInput {
  readonly names: LabNames
  readonly env: LabEnv
  readonly mounted: MountSources
  readonly render: Render
}

/**
 * Renders a lab: its objects in the order of their creation, without op and owner, and its view.
 * @throws {ApiError} 422 for a service prefix that is not a path, or an env that is too large; 403 for a user or group
 *   name that `/etc/passwd`, `/etc/group` or a path cannot hold, and for an administrator's token if labs get tokens
 */
export function renderLab(input: LabInput): RenderedLab {
  const { config, identity, image, idle } = input
  const making = makingOf(input)
  const { names, mounted, render } = making
  const view = viewOf(input, names, making.env)
  const plan: LabPlan = {
    username: identity.username,
    namespace: namespaceOf(making, view),
    objects: [
      ...configMaps(making),
      ...secrets(making),
      ...volumeClaims(mounted, render),
      ...resourceQuota(making),
      render('networking.k8s.io/v1', 'NetworkPolicy', names.lab, {
        spec: networkPolicySpec(config.network, idle?.namespace),
      }),
      render('v1', 'Service', names.lab, { spec: serviceSpec }),
      podOf(making),
    ],
    image,
  }
  return { plan, view }
}

function makingOf(input: LabInput): Making {
  const { config, identity, request, choice, image, sources } = input
  const { lab } = config
  const { username } = identity
  const names = labNames(lab.namespacePrefix, username)
  const home = homeOf(lab, username)
  const provisioning = sources.provisioned ? undefined : lab.provisioning
  return {
    ...input,
    names,
    env: labEnv({ lab, ...request, quotas: choice.quotas, image, home }),
    mounted: { lab, names, username, home, provisioning, choice },
    render: objectMaker(input, names.namespace),
  }
}

/**
 * An object as it is sent: with the op of its creation and, inside a namespace, owned by exactly this namespace. The
 * cluster then removes an object that arrives late in a newer namespace of the same name.
 * @param namespaceUid null for the Namespace itself
 */
export function withOwnership(object: KubeObject, op: number, namespaceUid: string | null): KubeObject {
  const { metadata } = object
  const owner = { apiVersion: 'v1', kind: 'Namespace', name: metadata.namespace ?? metadata.name }
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [labels.op]: String(op) },
      ...(namespaceUid !== null && { ownerReferences: [{ ...owner, uid: namespaceUid }] }),
    },
  }
}

function viewOf({ config, identity, request, choice }: LabInput, names: LabNames, env: LabEnv): LabView {
  return {
    username: identity.username,
    options: request.options,
    env: maskedEnv(request.env, config.lab.secretPatterns),
    uid: choice.uid,
    gid: choice.gid,
    groups: identity.groups.flatMap(({ name, id }) => (id === undefined ? [] : [{ name, id }])),
    quotas: choice.quotas,
    internalUrl: labAddress(names, env.servicePrefix),
  }
}

function namespaceOf(making: Making, view: LabView): KubeObject {
  const { labels: ownLabels, annotations: ownAnnotations } = marks(making)
  const { config, names, mounted } = making
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: names.namespace,
      labels: { ...ownLabels, ...podSecurityLabels(config.lab, mounted.provisioning) },
      annotations: { ...ownAnnotations, [annotations.record]: viewText(view) },
    },
  }
}

function configMaps({ config, identity, choice, sources, names, env, mounted, render }: Making): KubeObject[] {
  const { home, provisioning } = mounted
  const user = { username: identity.username, ...choice, groups: identity.groups, home }
  const data = provisioning && provisionEnv(provisioning.env, { identity, choice, home })
  return [
    render('v1', 'ConfigMap', names.env, { immutable, data: env.plain }),
    render('v1', 'ConfigMap', names.nss, { immutable, data: nssFiles(nssBase(config.lab.nss), user) }),
    ...(data ? [render('v1', 'ConfigMap', names.provision, { immutable, data })] : []),
    ...volumeConfigMaps(mounted, sources.configMaps, render),
  ]
}

function secrets({ config, identity, sources, names, env, render }: Making): KubeObject[] {
  const kind = { immutable, type: 'Opaque' }
  const files = config.lab.secrets.filter(({ pull }) => !pull).map(({ key, as = key }) => as)
  const data = Object.fromEntries(files.map(file => [file, sourceOf(sources.secrets, file)]))
  const content = { ...tokenOf(config, identity), ...(files.length > 0 && { data }) }
  return [
    render('v1', 'Secret', names.lab, { ...kind, ...content }),
    render('v1', 'Secret', names.env, { ...kind, stringData: env.secret }),
    ...(config.lab.secrets.some(({ pull }) => pull) ? [pullSecret(sources, names, render)] : []),
  ]
}

function tokenOf(config: LabInput['config'], { token, scopes }: Identity): object {
  if (!getsToken(config)) return {}
  requireNoAdministrator(scopes)
  return { stringData: { [tokenKey]: token } }
}

function pullSecret({ pullSecret }: LabSources, names: LabNames, render: Render): KubeObject {
  if (pullSecret === undefined) throw new Error('no pull secret was read')
  const type = 'kubernetes.io/dockerconfigjson'
  return render('v1', 'Secret', names.pull, { immutable, type, data: { '.dockerconfigjson': pullSecret } })
}

/** Without a quota, nothing is limited (SQR-066, "Resource quotas"). */
function resourceQuota({ identity: { quota }, choice, mounted, names, render }: Making): KubeObject[] {
  if (!quota || !isCounted(quota)) return []
  const { provisioning } = mounted
  // The two containers run one after the other.
  const storage = Math.max(choice.storage.limit, provisioning ? provisionStorage(provisioning, choice).limit : 0)
  return [render('v1', 'ResourceQuota', names.lab, { spec: resourceQuotaSpec(quota, storage) })]
}

/** The address is published before the pod is Ready, so that it answers as soon as the lab is reported as running. */
const serviceSpec = {
  selector: podLabels,
  ports: [{ name: 'http', port: labPort, targetPort: labPort, protocol: 'TCP' }],
  publishNotReadyAddresses: true,
}

function podOf(making: Making): KubeObject {
  const { config, identity, choice, idle, names, render } = making
  const size = idle && { [annotations.size]: choice.size }
  const pod = render('v1', 'Pod', names.lab, { spec: podSpecOf(making) }, { ...config.lab.annotations, ...size })
  if (!config.network.appsOfGroups) return pod
  const groups = Object.fromEntries(identity.groups.map(({ name }) => [groupKey(name), '']))
  return { ...pod, metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...groups } } }
}

function podSpecOf({ config, identity, choice, names, env, mounted, image }: Making): object {
  return podSpec({
    lab: config.lab,
    spawnTimeoutSeconds: config.times.spawnTimeoutSeconds,
    names,
    identity,
    choice,
    image: image.reference,
    servicePrefix: env.servicePrefix,
    mounted,
  })
}
