/**
 * What the watches keep of Kubernetes' objects: facts, not objects. The projections from objects are in `project.ts`.
 */

/** A namespace that bears an installation's label. */
export interface NamespaceFacts {
  readonly name: string
  readonly uid: string
  readonly installation: string | undefined
  /** The op of the creation that this namespace is. */
  readonly op: number | undefined
  /** The user's true name, from the annotation. */
  readonly user: string | undefined
  /** The view as JSON, from the annotation. */
  readonly record: string | undefined
  /** Of the record, from the annotation. */
  readonly recordMac?: string | undefined
  readonly terminating: boolean
  /** What the cluster says stands in the way of its deletion, in its own words. */
  readonly obstacles: readonly string[]
}

export interface ContainerFacts {
  readonly name: string
  /** The start-up probe has passed. */
  readonly started: boolean
  readonly ready: boolean
  readonly restartCount: number
  /** A container runtime has given it an id: its kubelet tells of its start by an event. */
  readonly hasId?: boolean
  readonly waiting: { readonly reason: string; readonly message: string } | undefined
  readonly running: boolean
  readonly terminated: TerminationFacts | undefined
  readonly lastTerminated: TerminationFacts | undefined
}

export interface TerminationFacts {
  readonly exitCode: number
  readonly reason: string
  /** The last lines, where the container's termination message policy provides them. */
  readonly message: string
  /** Milliseconds since the epoch, by the cluster's clock; 0 when not told. */
  readonly finishedAtMs: number
}

export interface PodFacts {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly installation: string | undefined
  readonly op: number | undefined
  /** The user's true name, from the annotation. */
  readonly user: string | undefined
  /** UID of the namespace that owns it, from its ownerReferences. */
  readonly ownerUid: string | undefined
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  /** Why the pod is in its phase, if told: `Evicted`, `NodeLost`, … */
  readonly reason: string
  readonly message: string
  readonly deleting: boolean
  readonly node: string | undefined
  /** The condition PodScheduled is False: the scheduler's own words. */
  readonly unschedulable: string | undefined
  /**
   * Whether the pod was ever Ready, now or earlier; absent when its conditions do not tell. A container that crashed has
   * `started` false again, so this alone tells a lab that ran from one that never came up.
   */
  readonly everReady?: boolean
  /** Its node has gone silent: what stands here may be long past. */
  readonly unheard?: boolean
  /** What must let go of it before it is gone. */
  readonly finalizers?: readonly string[]
  readonly initContainers: readonly ContainerFacts[]
  readonly containers: readonly ContainerFacts[]
}

/** A Kubernetes Event about a pod. Repeats have the same UID and a higher count. */
export interface PodEventFacts {
  readonly uid: string
  readonly namespace: string
  readonly pod: string
  readonly podUid: string
  /** Name of the container that it is about; absent where it is about the whole pod, or about an init container. */
  readonly container?: string
  readonly warning: boolean
  readonly reason: string
  readonly message: string
  readonly count: number
}

/**
 * How a pod that is to become a lab stands:
 * - `starting`: nothing is wrong yet;
 * - `troubled`: something may pass; it fails when it stays longer than the grace of its cause;
 * - `ready`: it has passed its start-up probe: the lab answers;
 * - `ended`: it finished with success before anyone asked;
 * - `doomed`: it cannot succeed; the message tells why, in words for the user.
 */
export type StartVerdict =
  | { readonly kind: 'starting' | 'ready' | 'ended' }
  | { readonly kind: 'troubled'; readonly cause: 'no-room' | 'registry' | 'unknown'; readonly message: string }
  | { readonly kind: 'doomed'; readonly message: string }

/**
 * How the pod of a running lab stands. `crashing`: its container ended badly and is being restarted in its place (it is
 * waiting in a crash loop, or was restarted `restarts` times); `unknown`: nobody hears from its node.
 */
export type LifeVerdict =
  | { readonly kind: 'healthy'; readonly restarts: number; readonly message: string }
  | { readonly kind: 'ended' }
  | { readonly kind: 'crashing'; readonly restarts: number; readonly message: string }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }
