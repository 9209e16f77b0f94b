/**
 * Makes the objects in the namespace of a lab: first all but the pod, in one act, then the pod. The objects of the act do
 * not depend on each other, so their requests are sent at once. To read an object that exists already, the controller
 * first binds itself to a role (`reading.ts`).
 */
import type { KubeObject } from '../base/domain.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { isAlreadyExists, isOverQuota, KubeError } from '../kube/client.ts'
import { labels } from '../kube/labels.ts'
import { projectNamespace } from '../kube/pods/project.ts'
import { withOwnership } from '../labs/render.ts'
import { withActivityToken } from '../labs/token.ts'
import { namespaceRef, refOf } from './cluster.ts'
import type { LabContext, LabResult, LabStep } from './lab-context.ts'
import { isMiscounted, refusedByQuota } from './quota.ts'
import { readStanding } from './reading.ts'
import { isRefusal, ObjectRefused } from './steps.ts'

/** Names an object's place in the act by its kind and the part of its name after the pod's, which is unique within a kind. */
export function placeOf({ kind, metadata: { name } }: KubeObject, lab: string): string {
  return `make.${kind.toLowerCase()}${name.startsWith(`${lab}-`) ? name.slice(lab.length) : ''}`
}

/** The act that makes these objects of a lab. When it is repeated by the same owner, it makes only those that it lacks. */
export function contentMaker(objects: readonly KubeObject[], lab: string): LabStep['run'] {
  /** The objects that this owner has made: by object its UID, and that of the namespace. */
  const made = new Map<KubeObject, { readonly namespaceUid: string; readonly uid: string | undefined }>()
  const make = async (context: LabContext, object: KubeObject) => {
    const namespaceUid = context.known.namespaceUid!
    const before = made.get(object)
    if (before?.namespaceUid === namespaceUid && !isMiscounted(context, before.uid)) return
    const place = placeOf(object, lab)
    const { metadata } = await makeObject(context.at(place), object).catch(error => {
      throw isRefusal(error) ? new ObjectRefused(error, place) : error
    })
    made.set(object, { namespaceUid, uid: metadata.uid })
  }
  return async context => {
    await context.failpoint('before-act')
    await explained(context, allSettled(objects.map(object => make(context, object))))
    await context.failpoint('after-act')
    return { events: [] }
  }
}

export async function makePod(context: LabContext, planned: KubeObject): Promise<LabResult> {
  const { uid } = (await explained(context, makeObject(context, planned))).metadata
  context.known.podUid = uid
  return { events: [['info', 'Created the pod of the lab']], fields: { podUid: uid!, podPresent: true } }
}

/**
 * Waits for all, so that no write outlives its step unless the operation is stopped. Then throws the gravest error, if there
 * is one.
 */
async function allSettled(writes: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(writes)
  const errors = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  if (errors.length > 0) throw gravest(errors)
}

/**
 * The error that decides when several writes failed: one that only people can mend, then an answer of the API server, a
 * refusal last, which counts against its grace, then anything unexpected. An obstacle that passes decides only if there is no
 * other error.
 */
export function gravest(errors: readonly unknown[]): unknown {
  const gravity = (error: unknown) => {
    if (error instanceof NeedsSomeone) return 4
    if (error instanceof KubeError) return isRefusal(error) ? 2 : 3
    return error instanceof RetryLater ? 0 : 1
  }
  return errors.toSorted((a, b) => gravity(b) - gravity(a))[0]
}

/** After a refusal the namespace is asked for, once for all objects of an act. */
async function explained<T>(context: LabContext, making: Promise<T>): Promise<T> {
  return making.catch(async error => {
    if (isRefusal(error)) await requireNamespace(context)
    throw error
  })
}

async function makeObject(context: LabContext, planned: KubeObject): Promise<KubeObject> {
  const object = withToken(context, withOwnership(planned, context.op, context.known.namespaceUid!))
  await context.failpoint('before-act')
  const made = await createOrAdopt(context, object)
  await context.failpoint('after-act')
  return made
}

function withToken({ names, activityToken }: LabContext, object: KubeObject): KubeObject {
  const isLabsSecret = object.kind === 'Secret' && object.metadata.name === names.lab
  return activityToken !== undefined && isLabsSecret ? withActivityToken(object, activityToken) : object
}

/** Creates an object. One that exists already is adopted only if its op and its owner, the namespace, match. */
async function createOrAdopt(context: LabContext, object: KubeObject): Promise<KubeObject> {
  try {
    return await context.kube.create(object, context.call())
  } catch (error) {
    if (isAlreadyExists(error)) return adopt(context, object)
    // If a reply was lost, this very object may fill the quota, and the error does not mention that it exists.
    if (isOverQuota(error)) return adopt(context, object, error)
    throw error
  }
}

async function adopt(context: LabContext, object: KubeObject, overQuota?: KubeError): Promise<KubeObject> {
  const standing = await readStanding(context, object)
  if (!standing && overQuota) {
    await requireNamespace(context)
    return refusedByQuota(context, object, overQuota)
  }
  if (!standing) throw new RetryLater('an object came and went', 100)
  const { uid, labels: standingLabels, ownerReferences, deletionTimestamp } = standing.metadata
  const isOurs = standingLabels?.[labels.op] === String(context.op) && !isMiscounted(context, uid)
  if (isOurs && ownerReferences?.some(owner => owner.uid === context.known.namespaceUid)) {
    if (!deletionTimestamp) return standing
    throw new RetryLater('what was made before is being removed')
  }
  // A late writer must not destroy objects that a newer operation or a later owner made in the next namespace. So the
  // namespace is asked for after the object was read, for each such object.
  await requireNamespace(context)
  // It was left by a late write of an older operation, since only operations write into this namespace; or it is a quota
  // that counts wrongly.
  await context.kube.delete({ ...refOf(object), uid: uid! }, { ...context.call(), graceSeconds: 0 })
  throw new RetryLater('what was made before stood in the way')
}

/** Checks the namespace after a refusal or a foreign object in it: it may have been replaced. */
async function requireNamespace(context: LabContext): Promise<void> {
  const object = await context.kube.get(namespaceRef(context.names.namespace), context.call())
  const namespace = object && projectNamespace(object)
  if (!namespace || namespace.uid !== context.known.namespaceUid || namespace.terminating) {
    throw new NeedsSomeone(`The namespace ${context.names.namespace} was removed while the lab was being made`)
  }
}
