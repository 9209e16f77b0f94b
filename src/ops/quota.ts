/**
 * Tells a lab that is too large from a quota that counts a pod which was never stored. The API server charges a quota before
 * it stores a pod. If the request ends between the two, with its sender, the charge stays: Kubernetes counts anew only after
 * five minutes, when a pod of the namespace goes, or when the quota is made. So the lab's own quota is made anew.
 */
import type { KubeObject } from '../base/domain.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import type { KubeError } from '../kube/client.ts'
import { withOwnership } from '../labs/render.ts'
import type { LabContext } from './lab-context.ts'
import { readStanding } from './reading.ts'
import { StartOver } from './steps.ts'

/** Throws what follows when a quota refuses an object that does not exist, in a namespace that is the operation's own. */
export async function refusedByQuota(context: LabContext, object: KubeObject, refusal: KubeError): Promise<never> {
  // At rest no request is made in vain: a quota that had counted nothing refuses the object for its own size.
  if (object.kind !== 'Pod' || !hadCounted(refusal) || (await hasPods(context))) {
    throw new NeedsSomeone(`The lab is more than its quota allows: ${refusal.message}`, { cause: refusal })
  }
  const quota = await ownQuota(context)
  if (!quota || !counts(quota)) {
    // The API server has not seen the new count yet. The quota of somebody else is counted anew by Kubernetes.
    throw new RetryLater(`a quota counts a pod that does not exist: ${refusal.message}`)
  }
  context.known.miscounted = quota.metadata.uid!
  throw new StartOver('the quota counts a pod that does not exist')
}

/** Whether this is the quota that this operation found to count wrongly: it stands in the way of a new one. */
export const isMiscounted = ({ known }: Pick<LabContext, 'known'>, uid: string | undefined): boolean =>
  uid !== undefined && uid === known.miscounted

/** Whether the API server refused by a count of pods other than the refused one: `used: limits.cpu=2,…`. */
export function hadCounted({ message }: KubeError): boolean {
  const used = /, used: ([^\s]*), limited: /.exec(message)?.[1]
  return used?.split(',').some(amount => !amount.endsWith('=0')) ?? false
}

async function hasPods({ kube, names: { namespace }, call }: LabContext): Promise<boolean> {
  const { signal, agent } = call()
  return (await kube.list('v1', 'Pod', ({ metadata }) => metadata.name, { namespace, signal, agent })).length > 0
}

async function ownQuota(context: LabContext): Promise<KubeObject | null> {
  const planned = context.plan?.objects.find(({ kind }) => kind === 'ResourceQuota')
  return planned ? readStanding(context, withOwnership(planned, context.op, context.known.namespaceUid!)) : null
}

function counts({ status }: KubeObject): boolean {
  const { used = {} } = (status ?? {}) as { readonly used?: Readonly<Record<string, string>> }
  return Object.values(used).some(amount => amount !== '0')
}
