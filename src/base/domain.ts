/**
 * The words of the field, as types that every room shares. No logic and no I/O.
 *
 * - **lab**: what a user has, at most one; `pending`, `running`, `terminating` or `failed`.
 * - **operation**: one creation or one deletion of one lab, from acceptance to its last event; at most one per user.
 * - **op**: an operation's number, drawn at acceptance, never given out twice, rising for each user. It names the
 *   operation in Redis, in the ids of its events, in the labels of its objects and in logs.
 * - **plan**: everything that a creation needs, frozen at acceptance and sealed. Who resumes looks nothing up again.
 * - **record**: what Redis holds of a user's lab and of its latest operation.
 * - **view**: the part of a record that a client may see, secrets masked; also kept as an annotation of the namespace,
 *   from which a lab can be rebuilt.
 * - **lease**: a user's lock; who holds it owns the operation. Its random value is the **token** of the owner's writes.
 * - **whole**: a lab whose pod, owned by its very namespace, has a container that ever started.
 */

export type LabStatus = 'pending' | 'running' | 'terminating' | 'failed'
export type OperationKind = 'create' | 'delete'

/** Event types of a lab's stream (SQR-066, "GET …/events"). */
export type EventType = 'complete' | 'error' | 'failed' | 'info' | 'progress'

/** One event. `id` is `<op>-<seq>`; it is absent only when the stream that it belonged to was lost. */
export interface LabEvent {
  readonly id?: string
  readonly event: EventType
  /** Never empty. For `progress` a whole percentage. */
  readonly data: string
}

/** A group of a user. Groups without a GID exist, and are left out of everything numeric. */
export interface Group {
  readonly name: string
  readonly id?: number
}

/** What an identity provider says a user may use in labs. No quota at all means no limit. */
export interface NotebookQuota {
  /** CPUs */
  readonly cpu?: number
  readonly memoryBytes?: number
  /** false forbids labs */
  readonly spawn: boolean
}

export type Scope = 'exec:notebook' | 'admin:jupyterlab'

/** Who is asking. */
export interface Identity {
  readonly username: string
  /**
   * The credential presented; it goes into the lab as its notebook token. Never logged, never shown. Empty where an
   * ingress keeps it to itself, as on routes of administrators.
   */
  readonly token: string
  readonly scopes: readonly string[]
  readonly uid?: number
  readonly gid?: number
  readonly groups: readonly Group[]
  readonly quota?: NotebookQuota
}

/** The options of a lab, converted to plain values (SQR-066, "POST …/create"). Absent means not sent. */
export interface LabOptions {
  readonly enable_debug?: boolean
  readonly image_list?: string
  readonly image_dropdown?: string
  readonly image_tag?: string
  readonly image_type?: string
  readonly reset_user_env?: boolean
  readonly size?: string
}

/** The body of a create, validated and converted. */
export interface CreateRequest {
  readonly options: LabOptions
  readonly env: Readonly<Record<string, string>>
}

/** CPUs and bytes. */
export interface Resources {
  readonly cpu: number
  readonly memory: number
}

export interface Quotas {
  readonly limits: Resources
  readonly requests: Resources
}

/** What a client may see of a lab, beyond its state; frozen at acceptance. `env` has secret values masked. */
export interface LabView {
  readonly username: string
  readonly options: LabOptions
  readonly env: Readonly<Record<string, string>>
  readonly uid: number
  readonly gid: number
  readonly groups: readonly { readonly name: string; readonly id: number }[]
  readonly quotas: Quotas
  /** Where the lab will answer once it runs: shown as `internal_url` only then. */
  readonly internalUrl: string
}

/** An image, resolved once at acceptance. */
export interface ResolvedImage {
  /** What the pod pulls: with the digest when it is known, else with the tag. */
  readonly reference: string
  readonly tag: string
  /** `sha256:…`, or null when the registry did not tell. */
  readonly digest: string | null
  /** Human-readable, for IMAGE_DESCRIPTION. */
  readonly description: string
}

/** A Kubernetes object as JSON: what is sent is what stands here, no field is dropped. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: KubeMetadata
  readonly [field: string]: unknown
}

export interface KubeMetadata {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly {
    readonly apiVersion: string
    readonly kind: string
    readonly name: string
    readonly uid: string
  }[]
  readonly [field: string]: unknown
}

/**
 * All that a creation needs. The objects are rendered at acceptance; op and the namespace's UID are added when they
 * are sent, since neither is known before. Sealed while in Redis, dropped when the operation ends.
 */
export interface LabPlan {
  readonly username: string
  /** The user's namespace, with the view as an annotation. */
  readonly namespace: KubeObject
  /** Everything else in the order of creation; the pod is last. */
  readonly objects: readonly KubeObject[]
  readonly image: ResolvedImage
}

/** What a client sees of a lab. `GET …/labs/<u>` is this with `internal_url`, `pod` and `events` as the contract says. */
export interface LabState {
  readonly status: LabStatus
  readonly podPresent: boolean
  readonly view: LabView
  readonly events: readonly LabEvent[]
}
