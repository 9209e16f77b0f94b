/**
 * Reads objects in the namespace of a lab. The controller has no right to do so until it binds itself to `skylab-lab`
 * there. An undisturbed creation never needs this, so the controller has no standing right to read Secrets in labs.
 */
import type { KubeObject } from '../base/domain.ts'
import { type CallOptions, isAlreadyExists, KubeError } from '../kube/client.ts'
import { labRole } from '../labs/rights.ts'
import { type ClusterClient, refOf } from './cluster.ts'
import type { LabContext, LabKnown } from './lab-context.ts'

/** The part of a step's context that reading needs. */
export interface ReadingContext extends Pick<LabContext, 'clock' | 'signal'> {
  readonly kube: Pick<ClusterClient, 'account' | 'create' | 'get'>
  readonly known: Pick<LabKnown, 'namespaceUid' | 'readable'>
  call(): CallOptions
}

/** A new right takes a moment to come into force; on an idle API server the longest pause is not reached. */
const pausesMs = [20, 40, 80, 160, 320, 640, 1280]
/** From this pause on the binding is made again: an older creation's binding may have been removed with its owner. */
const bindAgainMs = 160

/**
 * Reads an object of the lab; null if it does not exist.
 * @param object as the lab's operation would create it
 * @throws {KubeError} 403 when no right came into force within about 3 s
 */
export async function readStanding(context: ReadingContext, object: KubeObject): Promise<KubeObject | null> {
  const { kube, clock, signal } = context
  const read = (more = {}) => kube.get(refOf(object), { ...context.call(), ...more })
  // The controller may read pods everywhere.
  if (object.kind === 'Pod') return read()
  await bindOnce(context, object)
  for (const pauseMs of pausesMs) {
    try {
      return await read({ mayBeRefused: true })
    } catch (error) {
      if (!isForbidden(error)) throw error
    }
    await clock.sleep(pauseMs, signal)
    if (pauseMs >= bindAgainMs) await bind(context, object)
  }
  return read()
}

/** Makes the binding once for all objects of a namespace, however many are read at once. */
function bindOnce(context: ReadingContext, object: KubeObject): Promise<void> {
  const { known } = context
  const namespaceUid = known.namespaceUid!
  if (known.readable?.namespaceUid === namespaceUid) return known.readable.bound
  const bound = bind(context, object)
  known.readable = { namespaceUid, bound }
  return bound.catch(error => {
    known.readable = undefined
    throw error
  })
}

/** Makes the binding. A refusal is ignored: the right may come from elsewhere; otherwise the read is refused. */
async function bind(context: ReadingContext, { metadata }: KubeObject): Promise<void> {
  const { namespace, labels, annotations, ownerReferences } = metadata
  const binding: KubeObject = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: {
      name: labRole,
      namespace: namespace!,
      labels: labels!,
      annotations: annotations!,
      ownerReferences: ownerReferences!,
    },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: labRole },
    subjects: [subjectOf(await context.kube.account(context.call()))],
  }
  try {
    await context.kube.create(binding, { ...context.call(), mayBeRefused: true })
  } catch (error) {
    if (!isAlreadyExists(error) && !isForbidden(error)) throw error
  }
}

const isForbidden = (error: unknown): boolean => error instanceof KubeError && error.status === 403

/** Converts an account's username to the subject of a binding. */
function subjectOf(username: string): object {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? []
  if (name !== undefined) return { kind: 'ServiceAccount', name, namespace }
  return { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: username }
}
