/** The pod template of an app (seed 001, "Controller": Deployment). Pure. */

import { type Addresses, appOrigin } from '../base/app-address.ts'
import { asObject, asObjects, type JsonObject } from '../base/json.ts'
import { formatBytes, formatCpu } from '../base/quantity.ts'
import type { Pruned } from './allow.ts'
import type { AppSettings } from './groups.ts'
import { appPrefix, initName } from './names.ts'
import { containerForm, others, podForm } from './pod-forms.ts'
import type { AppSpec, InstanceType } from './spec.ts'
import { ownMounts, type Storage, storageOf } from './volumes.ts'

/** The group of files where the app names none, if it must not be root. */
const defaultGroupId = 1_000

/**
 * Nobody but us may set these. `null` is a field that should not be: what somebody writes into the Deployment by hand
 * goes again.
 */
const forbiddenInPod = {
  ...{ hostNetwork: null, hostPID: null, hostIPC: null, nodeName: null, shareProcessNamespace: null },
  ...{ serviceAccountName: null, serviceAccount: null, priorityClassName: null, runtimeClassName: null },
  ...{ hostAliases: null, affinity: null },
}
const forbiddenInContainer = { envFrom: null, lifecycle: null, volumeDevices: null }
const forbiddenInSecurity = { privileged: null, procMount: null, seLinuxOptions: null }

export function podSpecOf(spec: AppSpec, settings: AppSettings, pruned: Pruned): JsonObject {
  const { apps } = settings
  const raw = asObject(spec.podTemplate.spec)
  const at = 'spec.podTemplate.spec'
  const [first, ...more] = Array.isArray(raw.containers) ? raw.containers : []
  others(spec.podTemplate, ['spec'], 'spec.podTemplate', pruned)
  for (const i of more.keys()) pruned.add(`${at}.containers[${i + 1}]`)
  const { isAlone } = spec.group
  const { containers: _, ...rest } = raw
  const pod = asObject(podForm(isAlone)(rest, at, pruned))
  const container = asObject(containerForm(isAlone)(first, `${at}.containers[0]`, pruned))
  const storage = storageOf(spec.id, spec.group)
  const presets = presetsOf(spec, storage, apps)
  const resources = spec.instance && resourcesOf(spec.instance)
  const volumes = [...storage.volumes, ...asObjects(pod.volumes)]
  const podSecurity = { ...asObject(pod.securityContext), ...(!apps.initAsRoot && restrictedPod(pod)) }
  const main = mainContainer(container, ownMounts(container, pod, storage, pruned), storage, presets)
  return {
    ...pod,
    ...forbiddenInPod,
    ...placeOf(spec.instance),
    ...(Object.keys(podSecurity).length > 0 && { securityContext: podSecurity }),
    ...{ automountServiceAccountToken: false, enableServiceLinks: false },
    initContainers: [initContainer(spec, container, storage, presets, apps.initAsRoot, resources)],
    containers: [{ ...main, ...(resources && { resources }), ...securityOf(container, apps.initAsRoot) }],
    volumes,
  }
}

/** `$` would begin a reference to another variable. */
const literal = (value: string): string => value.replaceAll('$', '$$$$')

/** In this order before all others: Kubernetes replaces `$(NAME)` by variables from before. */
function presetsOf({ id, group }: AppSpec, { root }: Storage, addresses: Addresses): readonly JsonObject[] {
  // At a host of its own an app makes its links of that, and takes requests from its own pages.
  const url = addresses.appDomain === undefined ? addresses.publicUrl : appOrigin(id, addresses)
  return [
    { name: 'PRIMEHUB_APP_ID', value: id },
    { name: 'PRIMEHUB_APP_ROOT', value: root },
    { name: 'PRIMEHUB_APP_BASE_URL', value: appPrefix(id) },
    { name: 'PRIMEHUB_URL', ...(url !== undefined && { value: literal(url) }) },
    { name: 'PRIMEHUB_GROUP', value: literal(group.name) },
  ]
}

function mainContainer(
  container: JsonObject,
  own: readonly JsonObject[],
  { mounts }: Storage,
  presets: readonly JsonObject[],
): JsonObject {
  return {
    ...container,
    ...forbiddenInContainer,
    name: container.name ?? 'app',
    env: [...presets, ...asObjects(container.env)],
    volumeMounts: [...mounts, ...own],
  }
}

/** What Pod Security `restricted` asks for. */
const restrictedContainer = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
const seccomp = { type: 'RuntimeDefault' }

function restrictedPod({ securityContext }: JsonObject): JsonObject {
  const { fsGroup = defaultGroupId, seccompProfile = seccomp } = asObject(securityContext)
  return { runAsNonRoot: true, fsGroup, seccompProfile }
}

function securityOf({ securityContext }: JsonObject, asRoot: boolean): { readonly securityContext: JsonObject } {
  const { runAsNonRoot, ...own } = asObject(securityContext)
  const kept = asRoot && runAsNonRoot !== undefined ? { ...own, runAsNonRoot } : own
  return { securityContext: { ...kept, ...forbiddenInSecurity, ...(!asRoot && restrictedContainer) } }
}

/** `init-<id>` makes the folder of the app: as root, or by the group of files. */
function initContainer(
  { id }: AppSpec,
  { image, securityContext }: JsonObject,
  { rootMounts }: Storage,
  env: readonly JsonObject[],
  asRoot: boolean,
  resources: JsonObject | undefined,
): JsonObject {
  const mode = asRoot ? ['-m', '777'] : []
  const { runAsUser, runAsGroup } = asObject(securityContext)
  const ids = { ...(runAsUser !== undefined && { runAsUser }), ...(runAsGroup !== undefined && { runAsGroup }) }
  return {
    ...{ name: initName(id), image },
    ...{ command: ['mkdir', '-p', ...mode, '$(PRIMEHUB_APP_ROOT)'], env },
    volumeMounts: rootMounts,
    ...(resources && { resources }),
    securityContext: asRoot
      ? { runAsUser: 0, runAsNonRoot: false, allowPrivilegeEscalation: false }
      : { ...ids, ...restrictedContainer },
  }
}

function placeOf(instance: InstanceType | undefined): JsonObject {
  const { nodeSelector = {}, tolerations = [] } = instance ?? {}
  return {
    nodeSelector: Object.keys(nodeSelector).length > 0 ? nodeSelector : null,
    tolerations: tolerations.length > 0 ? tolerations : null,
  }
}

/** Extended resources have one amount for both. By default a quarter of the rest is requested. */
export function resourcesOf({ limits, requests, resources }: InstanceType): JsonObject {
  const least = requests ?? { cpu: Math.ceil(limits.cpu * 250) / 1_000, memory: Math.ceil(limits.memory / 4) }
  const extended = Object.fromEntries(Object.entries(resources).map(([name, amount]) => [name, String(amount)]))
  return { limits: { ...amountsOf(limits), ...extended }, requests: { ...amountsOf(least), ...extended } }
}

function amountsOf({ cpu, memory, storage }: InstanceType['limits']): JsonObject {
  return {
    ...{ cpu: formatCpu(cpu), memory: formatBytes(memory) },
    ...(storage !== undefined && { 'ephemeral-storage': formatBytes(storage) }),
  }
}
