/** Labs as workloads: their pods by the watches, their records in Redis, and their deletion as the stop. */
import type { IdleConfig } from '../../config/idle.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { PodFacts } from '../../kube/pods/facts.ts'
import { labPort } from '../../labs/env.ts'
import { labNames } from '../../labs/names.ts'
import { servicePrefixOf } from '../../labs/view.ts'
import type { ActivityStore } from '../../store/activity.ts'
import { openCredential } from '../../store/credential.ts'
import type { LabRead, StopRequest } from '../../store/idle.ts'
import type { Sealer } from '../../store/sealing.ts'
import type { ProbeTarget } from '../looks/questions.ts'
import type { Known, StampPatch, StopResult, Traits, WorkloadFacts, WorkloadOwner } from './workload.ts'

export interface LabOwnerOptions {
  readonly stampPolicy: IdleConfig['annotations']['lab']
  readonly namespacePrefix: string
  readonly pods: {
    byNamespace(namespace: string): Iterable<PodFacts>
    lastWordAgeMs(): number
  }
  readonly store: Pick<ActivityStore, 'readLab' | 'cullLab'>
  readonly sealer: Pick<Sealer, 'open'>
  readonly kube: Pick<KubeClient, 'patch'>
  /** Reads the credential of a lab whose record has none that opens from the cluster. */
  readonly readCredential: (lab: StandingLab, signal: AbortSignal) => Promise<string | undefined>
  /** Until the deadline of a deletion. */
  readonly deleteTimeoutMs: number
  /** The origin of a deletion for the audit log. */
  readonly by: (user: string) => string
  /** A deletion was accepted. */
  readonly onStop: () => void
}

type Lab = NonNullable<LabRead['lab']>

/** A lab that runs, by its record. */
export interface StandingLab {
  readonly user: string
  readonly op: number
  readonly namespaceUid: string
}

/** Only after a loss of Redis' data are there many. */
const maxCredentials = 10_000

export class LabOwner implements WorkloadOwner {
  readonly kind = 'lab'
  /** JupyterHub's proxy serves labs. */
  readonly unreported = ['traffic'] as const
  readonly stampPolicy: LabOwnerOptions['stampPolicy']
  readonly #options: LabOwnerOptions
  /** Credentials that were read from the cluster, by the UID of the namespace: each of them takes a binding and two requests. */
  readonly #credentials = new Map<string, Promise<string | undefined>>()

  constructor(options: LabOwnerOptions) {
    this.#options = options
    this.stampPolicy = options.stampPolicy
  }

  facts(user: string): WorkloadFacts | undefined {
    const pod = this.#podOf(user)
    if (!pod || pod.deleting || pod.phase !== 'Running') return undefined
    const { uid: podUid, idle, stopped } = pod
    const { lastActivity, checked, keepUntil } = idle ?? {}
    return {
      ...{ kind: 'lab', id: user, podUid },
      mayBeAsked: idle?.ready === true && !idle.hostNetwork,
      startedMs: idle?.startedAtMs || undefined,
      stamps: { lastActivity, checked, keepUntil, stopped },
    }
  }

  /** Whether the watches show its pod as being deleted. */
  isEnding(user: string): boolean {
    return this.#podOf(user)?.deleting ?? false
  }

  /** The lab whose pod this is. */
  ofPod(namespace: string, name: string): WorkloadFacts | undefined {
    for (const { name: its, uid, user } of this.#options.pods.byNamespace(namespace)) {
      const facts = its === name && user !== undefined ? this.facts(user) : undefined
      if (facts?.podUid === uid) return facts
    }
    return undefined
  }

  silenceMs(): number {
    return this.#options.pods.lastWordAgeMs()
  }

  async read(facts: WorkloadFacts): Promise<Known | undefined> {
    const { id: user, podUid } = facts
    const { lab, ...read } = await this.#options.store.readLab(user, podUid)
    if (lab?.podUid !== podUid) return undefined
    return {
      read,
      traits: this.#traitsOf(user, lab),
      op: lab.op,
      target: signal => this.#target(user, lab, signal),
      stop: request => this.#stop(user, lab, request),
    }
  }

  async stamp({ id: user, podUid: uid }: WorkloadFacts, annotations: StampPatch, signal: AbortSignal): Promise<void> {
    const { namespace, lab: name } = this.#namesOf(user)
    const ref = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid }
    await this.#options.kube.patch(ref, { metadata: { annotations } }, { signal, agent: 'idle' })
  }

  #traitsOf(user: string, { view }: Lab): Traits {
    const { size, image } = this.#podOf(user)?.idle ?? {}
    const groups = view.groups.map(({ name }) => name)
    return { size, image, user, groups, namespace: this.#namesOf(user).namespace }
  }

  async #target(user: string, lab: Lab, signal: AbortSignal): Promise<ProbeTarget> {
    const credential = openCredential(this.#options.sealer, user, lab) ?? (await this.#credentialOf(user, lab, signal))
    return {
      address: this.#podOf(user)?.idle?.ip ?? '',
      port: labPort,
      prefix: servicePrefixOf(lab.view.internalUrl),
      credential,
    }
  }

  async #stop(user: string, { op }: Lab, request: StopRequest): Promise<StopResult> {
    const { store, deleteTimeoutMs: timeLimitMs, by, onStop } = this.#options
    const answer = await store.cullLab({ ...request, op, timeLimitMs, by: by(user) })
    if (typeof answer === 'string') return answer
    onStop()
    return 'requested'
  }

  /** Kept while the lab is there, also where it has none. */
  #credentialOf(user: string, { op, namespaceUid }: Lab, signal: AbortSignal): Promise<string | undefined> {
    const kept = this.#credentials.get(namespaceUid)
    if (kept) return kept
    for (const oldest of this.#credentials.keys()) {
      if (this.#credentials.size < maxCredentials) break
      this.#credentials.delete(oldest)
    }
    const read = this.#options.readCredential({ user, op, namespaceUid }, signal)
    this.#credentials.set(namespaceUid, read)
    read.catch(() => this.#credentials.delete(namespaceUid))
    return read
  }

  /** The UID in the record decides whether it is the lab's. */
  #podOf(user: string): PodFacts | undefined {
    const { namespace, lab } = this.#namesOf(user)
    for (const pod of this.#options.pods.byNamespace(namespace)) if (pod.name === lab) return pod
    return undefined
  }

  #namesOf(user: string) {
    return labNames(this.#options.namespacePrefix, user)
  }
}
