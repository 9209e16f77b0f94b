/**
 * The interface of a cloud (shared words of all drivers; dispatch's page "Clouds"). A driver speaks to one account, sees
 * only machines of its set, and retries nothing: its callers decide, by the errors of `errors.ts`.
 */

import type { Span } from '../telemetry/tracing.ts'

/** Why a machine is wanted. It is stored before the cloud hears of it. */
export interface Intent {
  /** The same token twice makes one machine, where the cloud honours it (`idempotentCreate`). */
  readonly token: string
  /** The provider's name of the type. */
  readonly providerType: string
  readonly image: string
  /** All tags, our set's among them. */
  readonly tags: Readonly<Record<string, string>>
  /** A shell script for the machine's first start. It has the machine's secret: never to be logged. */
  readonly initCommand: string
  /** In OpenSSH's form. */
  readonly publicKey: string
  /** The size of the scratch disk that the type wants added, in bytes. 0: none. */
  readonly addedScratchBytes: number
  readonly preemptible: boolean
  /** Where it was tried last, by `CloudCall.note`. A new attempt begins there: a token counts in one place only. */
  readonly place?: string
}

/** A resource that is made before its machine, and stays without it: a network interface. It has the tags of its intent. */
export interface PreResource {
  readonly kind: string
  readonly id: string
  readonly tags: Readonly<Record<string, string>>
  readonly createdMs: number | undefined
}

export type InstanceState = 'pending' | 'running' | 'stopping' | 'gone'

export interface Instance {
  readonly id: string
  /** `host:port`, where its SSH server listens; undefined until the cloud gives one. */
  readonly address: string | undefined
  readonly providerType: string
  readonly tags: Readonly<Record<string, string>>
  readonly state: InstanceState
}

/** Options of each call. */
export interface CloudCall {
  readonly signal: AbortSignal
  /** Names replica, operation and epoch, in the User-Agent. */
  readonly agent: string
  /** To be called last before a request leaves. @throws when the lease has expired */
  readonly check?: () => void
  /** The parent of a span for the call. */
  readonly span?: Pick<Span, 'child'>
  /** To be passed around a request that changes something. */
  readonly failpoint?: (place: 'before-send' | 'after-send') => void | Promise<void>
  /**
   * Where a machine is asked for next, such as a subnet. To be stored before it resolves, and to be given back as
   * `Intent.place`: otherwise an attempt after a lost answer could make a second machine elsewhere.
   */
  readonly note?: (place: string) => void | Promise<void>
}

export interface Driver {
  /** The name in the configuration, such as `ec2`. */
  readonly name: string
  /** The same token twice makes one machine. Otherwise the listing decides after a call without an answer. */
  readonly idempotentCreate: boolean
  /** Makes what must be there before the machine. May be called again for the same intent: it finds what it made. */
  prepare?(intent: Intent, call: CloudCall): Promise<readonly PreResource[]>
  create(intent: Intent, prepared: readonly PreResource[], call: CloudCall): Promise<Instance>
  /** All machines of our set, those that have ended recently perhaps among them. */
  list(call: CloudCall): Promise<readonly Instance[]>
  /** 'unknown' proves nothing. Only an instance with state `gone` is gone by proof. */
  find(id: string, call: CloudCall): Promise<Instance | 'unknown'>
  /**
   * Whether the cloud says that it has no such machine, in the account where ours are. It is no proof by itself:
   * `absence.ts` says when it becomes one. Without it, a machine is gone by its state alone.
   */
  missing?(id: string, call: CloudCall): Promise<boolean>
  setTags(id: string, tags: Readonly<Record<string, string>>, call: CloudCall): Promise<void>
  /** A yes proves nothing either. A machine that is already gone is no error. */
  destroy(id: string, call: CloudCall): Promise<void>
  /** Resources that `prepare` made and no machine has. */
  orphans(call: CloudCall): Promise<readonly PreResource[]>
  remove(resource: PreResource, call: CloudCall): Promise<void>
  close(): Promise<void>
}
