/**
 * Reading what stands in the namespace of a lab. The controller has no right to it until it binds itself to `skylab-lab`
 * there: a creation that nothing disturbs never needs it, so no right to read Secrets stands anywhere beforehand.
 */
import type { KubeObject } from '../base/domain.ts'
import { isAlreadyExists, KubeError } from '../kube/client.ts'
import { labRole } from '../labs/rights.ts'
import { refOf } from './cluster.ts'
import type { StepContext } from './steps.ts'

/** API servers take a moment to know of a right; the longest pause is not reached on an idle one. */
const pausesMs = [20, 40, 80, 160, 320, 640, 1280]
/** From this pause on the binding is made again: an older creation's one may have gone with what it belonged to. */
const bindAgainMs = 160

/**
 * An object of the lab as it stands; null without one.
 * @param object as it is made here
 * @throws {KubeError} 403 where no right came into force within some 3 s
 */
export async function readStanding(context: StepContext, object: KubeObject): Promise<KubeObject | null> {
  const { kube, known, clock, signal } = context
  const read = (more = {}) => kube.get(refOf(object), { ...context.call(), ...more })
  // Pods are watched everywhere.
  if (object.kind === 'Pod') return read()
  if (known.readable !== known.namespaceUid) await bind(context, object)
  known.readable = known.namespaceUid
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

/** A refusal tells nothing yet: the right may be there in another way, and else the reading is refused. */
async function bind(context: StepContext, { metadata }: KubeObject): Promise<void> {
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

/** As a binding names whom the API server calls by this name. */
function subjectOf(username: string): object {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? []
  if (name !== undefined) return { kind: 'ServiceAccount', name, namespace }
  return { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: username }
}
