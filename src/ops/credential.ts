/**
 * Reads the token with which a lab's own API is asked from the lab's env in the cluster. Only for a lab whose record has none
 * that opens: Redis was emptied, a sealing key was retired, or the lab is older than this feature.
 */
import type { Clock } from '../base/clock.ts'
import type { KubeObject } from '../base/domain.ts'
import { labels } from '../kube/labels.ts'
import { credentialIn } from '../labs/credential.ts'
import { labNames } from '../labs/names.ts'
import { type MarkSources, objectMaker } from '../labs/objects.ts'
import { withOwnership } from '../labs/render.ts'
import { type ReadingContext, readStanding } from './reading.ts'

export interface CredentialOptions {
  readonly kube: ReadingContext['kube']
  readonly clock: Clock
  readonly config: MarkSources['config']
  /** The first of these variables that the env has is used. */
  readonly variables: readonly string[]
}

/** A lab that runs, by its record. */
export interface StandingLab {
  readonly user: string
  readonly op: number
  readonly namespaceUid: string
}

/**
 * Asks the API server. To do so, the controller binds itself to `skylab-lab` in the lab's namespace.
 * @returns undefined if the lab has none, or is another one by now
 * @throws {KubeError} when the API server refuses
 * @throws {RetryLater} when it does not answer
 */
export async function readCredential(
  { kube, clock, config, variables }: CredentialOptions,
  { user, op, namespaceUid }: StandingLab,
  signal: AbortSignal,
): Promise<string | undefined> {
  const names = labNames(config.lab.namespacePrefix, user)
  const make = objectMaker({ config, identity: { username: user } }, names.namespace)
  const call = () => ({ signal, agent: 'idle' })
  const context: ReadingContext = { kube, clock, signal, call, known: { namespaceUid } }
  const read = (kind: string) => readStanding(context, withOwnership(make('v1', kind, names.env, {}), op, namespaceUid))
  const found = await Promise.all(['ConfigMap', 'Secret'].map(read))
  // Another lab of this user may be there by now: its token must not be taken for that of this one.
  const isOurs = (object: KubeObject | null): object is KubeObject =>
    object?.metadata.labels?.[labels.op] === String(op) &&
    object.metadata.ownerReferences?.some(owner => owner.uid === namespaceUid) === true
  return credentialIn(found.filter(isOurs), names.env, variables)
}
