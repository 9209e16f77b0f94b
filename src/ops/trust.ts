/**
 * Decides which objects of the cluster are trusted. Anyone who may create a pod or a namespace somewhere can write labels
 * and annotations. An op counts only if installation, user and name match, and if it is at most a day beyond Redis'
 * clock. A record counts unless its MAC is wrong.
 */
import type { KubeObject } from '../base/domain.ts'
import { annotations, labels } from '../kube/labels.ts'
import type { NamespaceFacts } from '../kube/pods/facts.ts'
import { labNames } from '../labs/names.ts'
import type { MacVerdict, Sealer } from '../store/sealing.ts'

const dayUs = 86_400_000_000

/** The highest trusted op at a moment of Redis' clock; `include/draw.lua` has the same bound. */
export const boundAt = (redisMs: number): number => redisMs * 1000 + dayUs

/** `ahead`: its op is beyond the bound. `forged`: its record has a wrong MAC. */
export type Verdict = 'ours' | 'foreign' | 'ahead' | 'forged'

export interface TrustOptions {
  readonly installation: string
  readonly namespacePrefix: string
  readonly sealer: Pick<Sealer, 'mac' | 'checkMac'>
}

export class Trust {
  readonly #options: TrustOptions

  constructor(options: TrustOptions) {
    this.#options = options
  }

  /** Judges whether this installation made a namespace for a lab. */
  judge(namespace: NamespaceFacts, boundOp: number): Verdict {
    return this.inspect(namespace, boundOp).verdict
  }

  /** Also returns the MAC's verdict: a right MAC proves that this installation wrote the op and the record. */
  inspect(namespace: NamespaceFacts, boundOp: number): { readonly verdict: Verdict; readonly mac: MacVerdict } {
    if (!this.isNamedAsOurs(namespace)) return { verdict: 'foreign', mac: 'unknown' }
    const mac = this.#macOf(namespace)
    if (namespace.op! > boundOp) return { verdict: 'ahead', mac }
    return { verdict: mac === 'wrong' ? 'forged' : 'ours', mac }
  }

  /** Compares only installation, user and name, which anyone can write. */
  isNamedAsOurs({
    installation,
    op,
    user,
    name,
  }: Pick<NamespaceFacts, 'installation' | 'op' | 'user' | 'name'>): boolean {
    const { namespacePrefix } = this.#options
    if (installation !== this.#options.installation || op === undefined || !user) return false
    return labNames(namespacePrefix, user).namespace === name
  }

  /** Adds the MAC of the record to a namespace that is to be sent. Its op must already be in its labels. */
  signed(object: KubeObject): KubeObject {
    const { name, labels: marks, annotations: notes } = object.metadata
    const record = notes?.[annotations.record]
    if (record === undefined) return object
    const texts = this.#texts(name, notes?.[annotations.user] ?? '', marks?.[labels.op] ?? '', record)
    const recordMac = this.#options.sealer.mac(texts)
    return {
      ...object,
      metadata: { ...object.metadata, annotations: { ...notes, [annotations.recordMac]: recordMac } },
    }
  }

  #macOf({ name, user, op, record, recordMac }: NamespaceFacts): MacVerdict {
    const texts = this.#texts(name, user ?? '', String(op), record ?? '')
    return this.#options.sealer.checkMac(texts, recordMac)
  }

  #texts(namespace: string, user: string, op: string, record: string): string[] {
    return [this.#options.installation, namespace, user, op, record]
  }
}

/** Explains to the user why an object is left untouched. */
export function distrust(kind: 'namespace' | 'pod', name: string, verdict: Verdict, user: string): string {
  const what = `The ${kind} ${name}`
  const left = 'it is left untouched'
  if (verdict === 'ahead') {
    return `${what} bears an operation number more than a day beyond the clock, which this installation never gave: ${left}`
  }
  if (verdict === 'forged') return `${what} bears a record that this installation did not write: ${left}`
  return `${what} exists and was not made for ${user} by this installation: ${left}`
}
