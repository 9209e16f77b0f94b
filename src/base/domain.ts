/**
 * The terms of the domain, as types that every room shares. No logic and no I/O.
 *
 * - **lab**: a user's JupyterLab, at most one per user. Labs are one kind of **subjects** (`base/subject.ts`).
 * - **operation**: one creation or one deletion of one subject, from acceptance to its last event; at most one per subject.
 *   The subject is `pending`, `running`, `terminating` or `failed`.
 * - **op**: an operation's number, drawn at acceptance, never used twice by any kind, rising for each subject. It names the
 *   operation in Redis, in the ids of its events, in the labels of its objects and in logs.
 * - **plan**: everything that a creation needs, frozen at acceptance and sealed. A replica that resumes reads nothing
 *   else.
 * - **record**: the state of a subject and of its latest operation in Redis.
 * - **view**: the part of a record that a client may see, secrets masked. That of a lab is also an annotation of its
 *   namespace, from which the lab can be rebuilt.
 * - **lease**: the lock of a subject; its holder owns the operation. Its random value is the **token** of the owner's writes.
 * - **whole**: a lab is whole if its pod, owned by exactly its namespace, has a container that ever started.
 */

/** The status of a subject of any kind. */
export type LabStatus = 'pending' | 'running' | 'terminating' | 'failed'
export type OperationKind = 'create' | 'delete'

/** Event types of the stream of a lab (SQR-066, "GET …/events"), and of any other subject. */
export type EventType = 'complete' | 'error' | 'failed' | 'info' | 'progress'

/** One event of an operation of any kind. `id` is `<op>-<seq>`. It is absent only when the event's stream was lost. */
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

/** What a user may use in labs, by the identity provider. Without a quota nothing is limited. */
export interface NotebookQuota {
  /** CPUs */
  readonly cpu?: number
  readonly memoryBytes?: number
  /** false forbids labs */
  readonly spawn: boolean
}

export type Scope = 'exec:notebook' | 'admin:jupyterlab'

/** The caller, as the identity provider knows them. */
export interface Identity {
  readonly username: string
  /**
   * The credential presented; it goes into the lab as its notebook token. Never logged, never shown. Empty where an
   * ingress does not pass it on, as on routes of administrators.
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

/** The part of a lab that a client may see, beyond its state; frozen at acceptance. `env` has secret values masked. */
export interface LabView {
  readonly username: string
  readonly options: LabOptions
  readonly env: Readonly<Record<string, string>>
  readonly uid: number
  readonly gid: number
  readonly groups: readonly { readonly name: string; readonly id: number }[]
  readonly quotas: Quotas
  /** The address of the lab; clients see it as `internal_url` once the lab runs. */
  readonly internalUrl: string
}

/** An image, resolved once at acceptance. */
export interface ResolvedImage {
  /** The reference that the pod pulls: with the digest when it is known, else with the tag. */
  readonly reference: string
  readonly tag: string
  /** `sha256:…`, or null when the registry returned none. */
  readonly digest: string | null
  /** Human-readable, for IMAGE_DESCRIPTION. */
  readonly description: string
}

/** A Kubernetes object as JSON. It is sent exactly as it is, with all fields. */
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
 * Everything that a creation needs. The objects are rendered at acceptance; op and the namespace's UID are added when
 * they are sent, since neither is known before. Sealed while in Redis, dropped when the operation ends.
 */
export interface LabPlan {
  readonly username: string
  /** The user's namespace, with the view as an annotation. */
  readonly namespace: KubeObject
  /** Everything else in the order of creation; the pod is last. */
  readonly objects: readonly KubeObject[]
  readonly image: ResolvedImage
}

/**
 * The state of a lab for clients. `GET …/labs/<u>` is this with `internal_url`, `pod` and `events` as docs/api.md
 * says.
 */
export interface LabState {
  readonly status: LabStatus
  readonly podPresent: boolean
  readonly view: LabView
  readonly events: readonly LabEvent[]
}
