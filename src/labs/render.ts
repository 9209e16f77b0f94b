/** A plan becomes objects: everything that Kubernetes is to hold of one lab, rendered at acceptance. Pure. */
import type { Config } from '../config/schema.ts'
import type { CreateRequest, Identity, KubeObject, LabPlan, LabView, ResolvedImage } from '../domain.ts'
import type { LabChoice } from './choose.ts'
import type { LabEnv } from './env.ts'
import { labEnv, labPort, maskedEnv } from './env.ts'
import type { LabNames } from './names.ts'
import { annotations, labels, labNames } from './names.ts'
import { networkPolicySpec } from './network.ts'
import { baseNss, nssFiles } from './nss.ts'
import { podSpec } from './pod.ts'
import type { LabSources } from './sources.ts'
import { viewText } from './view.ts'

/** What a lab is rendered from. */
export interface LabInput {
  readonly config: Pick<Config, 'installation' | 'lab' | 'network' | 'times'>
  readonly identity: Identity
  readonly request: CreateRequest
  /** From `chooseLab`. */
  readonly choice: LabChoice
  readonly image: ResolvedImage
  readonly sources: LabSources
}

/** Selects the lab's pod within its namespace. */
const podLabels = { [labels.component]: 'lab' }

/** Key of the user's token in the lab's Secret (SQR-066, "Secrets"); it is the name of its file too. */
const tokenKey = 'token'

/**
 * All objects of a lab in the order of their creation, without op and owner, and the view that is kept with them.
 * @throws {ApiError} 422 for a service prefix that is no path and for an env too large to keep; 403 for a user or group
 *   name that `/etc/passwd` or `/etc/group` cannot hold
 */
export function renderLab(input: LabInput): LabPlan {
  const { config, identity, request, choice, image } = input
  const names = labNames(config.lab.namespacePrefix, identity.username)
  const env = labEnv({ lab: config.lab, ...request, quotas: choice.quotas, image })
  const view = viewOf(input, names, env)
  const render = objectMaker(input, names)
  return {
    username: identity.username,
    namespace: namespaceOf(input, names, view),
    objects: [
      ...configMaps(input, names, env, render),
      ...secrets(input, names, env, render),
      render('networking.k8s.io/v1', 'NetworkPolicy', names.lab, {
        spec: networkPolicySpec(config.network, podLabels),
      }),
      render('v1', 'Service', names.lab, { spec: serviceSpec }),
      render('v1', 'Pod', names.lab, { spec: podSpecOf(input, names, env) }),
    ],
    image,
  }
}

/**
 * An object as it is sent: bearing the op of its creation and, inside a namespace, owned by that very namespace, so that
 * the cluster removes what lands too late in another one of the same name.
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
    internalUrl: `http://${names.lab}.${names.namespace}:${labPort}${env.servicePrefix}`,
  }
}

type Render = (apiVersion: string, kind: string, name: string, fields: object) => KubeObject

function objectMaker(input: LabInput, { namespace }: LabNames): Render {
  return (apiVersion, kind, name, fields) => {
    return { apiVersion, kind, metadata: { name, namespace, ...marks(input) }, ...fields }
  }
}

function namespaceOf(input: LabInput, names: LabNames, view: LabView): KubeObject {
  const { labels: ownLabels, annotations: ownAnnotations } = marks(input)
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: names.namespace,
      labels: ownLabels,
      annotations: { ...ownAnnotations, [annotations.record]: viewText(view) },
    },
  }
}

/** Argo CD shows what it does not manage, and neither compares nor prunes it (SQR-066, "Argo CD support"). */
function marks({ config, identity }: LabInput) {
  return {
    labels: {
      [labels.managedBy]: 'skylab',
      ...podLabels,
      [labels.installation]: config.installation,
      [labels.argoInstance]: config.lab.application,
    },
    annotations: {
      [annotations.user]: identity.username,
      [annotations.argoCompareOptions]: 'IgnoreExtraneous',
      [annotations.argoSyncOptions]: 'Prune=false',
    },
  }
}

/** Nothing of a lab is ever changed; said so, kubelets need not watch it. */
const immutable = true

function configMaps(input: LabInput, names: LabNames, env: LabEnv, render: Render): KubeObject[] {
  const { identity, choice } = input
  const user = { username: identity.username, ...choice, groups: identity.groups, home: homeOf(input) }
  return [
    render('v1', 'ConfigMap', names.env, { immutable, data: env.plain }),
    render('v1', 'ConfigMap', names.nss, { immutable, data: nssFiles(baseNss, user) }),
  ]
}

function secrets({ identity }: LabInput, names: LabNames, env: LabEnv, render: Render): KubeObject[] {
  const kind = { immutable, type: 'Opaque' }
  return [
    render('v1', 'Secret', names.lab, { ...kind, stringData: { [tokenKey]: identity.token } }),
    render('v1', 'Secret', names.env, { ...kind, stringData: env.secret }),
  ]
}

/** The address is there before the pod is Ready, so that it answers in the moment in which the lab is said to. */
const serviceSpec = {
  selector: podLabels,
  ports: [{ name: 'http', port: labPort, targetPort: labPort, protocol: 'TCP' }],
  publishNotReadyAddresses: true,
}

function podSpecOf(input: LabInput, names: LabNames, { servicePrefix }: LabEnv): object {
  const { config, identity, choice, image } = input
  return podSpec({
    lab: config.lab,
    spawnTimeoutSeconds: config.times.spawnTimeoutSeconds,
    names,
    identity,
    choice,
    image: image.reference,
    servicePrefix,
    home: homeOf(input),
  })
}

function homeOf({ config, identity }: LabInput): string {
  return `${config.lab.homePrefix.replace(/\/+$/, '')}/${identity.username}`
}
