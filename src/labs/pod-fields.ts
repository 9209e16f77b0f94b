/** Rebuilds a lab's view, from its pod where the record is not known to be ours. Pure. */
import type { KubeObject, LabView, Quotas, Resources } from '../base/domain.ts'
import { asObject, asObjects, asText, type JsonObject } from '../base/json.ts'
import { parseQuantity } from '../base/quantity.ts'
import { isServicePrefix } from './env.ts'
import type { LabNames } from './names.ts'
import { containerName } from './pod.ts'
import { labAddress, servicePrefixOf } from './view.ts'

/** The fields of a lab's view that its pod contains. */
export interface PodFields {
  readonly uid?: number
  readonly gid?: number
  readonly quotas?: Quotas
  /** From the path of its start-up probe. */
  readonly servicePrefix?: string
}

/** Reads only fields in the form in which this program makes pods. */
export function podFieldsOf(pod: KubeObject): PodFields {
  const spec = asObject(pod.spec)
  const { runAsUser, runAsGroup } = asObject(spec.securityContext)
  const container = asObjects(spec.containers).find(({ name }) => name === containerName) ?? {}
  const { limits, requests } = asObject(container.resources)
  const [most, least] = [resourcesOf(asObject(limits)), resourcesOf(asObject(requests))]
  const path = asText(asObject(asObject(container.startupProbe).httpGet).path)
  const servicePrefix = path.endsWith('/api') ? path.slice(0, -'api'.length) : ''
  return {
    ...(typeof runAsUser === 'number' && { uid: runAsUser }),
    ...(typeof runAsGroup === 'number' && { gid: runAsGroup }),
    ...(most && least && { quotas: { limits: most, requests: least } }),
    ...(isServicePrefix(servicePrefix) && { servicePrefix }),
  }
}

function resourcesOf({ cpu, memory }: JsonObject): Resources | undefined {
  try {
    return { cpu: parseQuantity(asText(cpu)), memory: parseQuantity(asText(memory)) }
  } catch {
    return undefined
  }
}

export interface Rebuilt {
  /** From the annotation, or a blank. */
  readonly view: LabView
  readonly username: string
  readonly names: Pick<LabNames, 'lab' | 'namespace'>
  /** Whether the MAC of the record is right. */
  readonly vouched: boolean
  readonly podFields: PodFields
}

/**
 * The view of a lab that was found in the cluster. Its address is computed. Without a right MAC, fields that are only
 * shown come from the record, and all others from the pod.
 */
export function rebuildView({ view, username, names, vouched, podFields }: Rebuilt): LabView {
  const recorded = servicePrefixOf(view.internalUrl)
  if (vouched) return { ...view, username, internalUrl: labAddress(names, recorded) }
  const { servicePrefix = recorded, ...fields } = podFields
  return { ...view, ...fields, username, internalUrl: labAddress(names, servicePrefix) }
}
