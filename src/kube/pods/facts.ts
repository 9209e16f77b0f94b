/**
 * Facts that watches keep of Kubernetes' objects. `project.ts` derives them from the objects.
 */

/** A namespace with an installation's label. */
export interface NamespaceFacts {
  readonly name: string
  readonly uid: string
  readonly installation: string | undefined
  /** The op of the creation that made the namespace. */
  readonly op: number | undefined
  /** The user name, from the annotation. */
  readonly user: string | undefined
  /** The view as JSON, from the annotation. */
  readonly record: string | undefined
  /** The MAC of the record, from the annotation. */
  readonly recordMac?: string | undefined
  readonly terminating: boolean
  /** Obstacles to its deletion, in the cluster's words. */
  readonly obstacles: readonly string[]
}

export interface ContainerFacts {
  readonly name: string
  /** The start-up probe has passed. */
  readonly started: boolean
  readonly ready: boolean
  readonly restartCount: number
  /** The container runtime has given it an id. Its kubelet then reports its start by an event. */
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
  /** Milliseconds since the epoch, by the cluster's clock; 0 when unknown. */
  readonly finishedAtMs: number
}

export interface PodFacts {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly installation: string | undefined
  readonly op: number | undefined
  /** The user name, from the annotation. */
  readonly user: string | undefined
  /** UID of the namespace that owns it, from its ownerReferences. */
  readonly ownerUid: string | undefined
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  /** The reason of the pod's phase, if any: `Evicted`, `NodeLost`, … */
  readonly reason: string
  readonly message: string
  readonly deleting: boolean
  readonly node: string | undefined
  /** The scheduler's message if the condition PodScheduled is False. */
  readonly unschedulable: string | undefined
  /**
   * Whether the pod was ever Ready; absent when its conditions do not show it. A container that crashed has `started`
   * false again, so only this field distinguishes a lab that ran from one that never started.
   */
  readonly everReady?: boolean
  /** Its node has gone silent: the status may be long out of date. */
  readonly unheard?: boolean
  /** The finalizers that must be removed before the pod is gone. */
  readonly finalizers?: readonly string[]
  /** The value of the annotation by which it is stopped; absent without it. People may write it. */
  readonly stopped?: string
  /** Where its containers are asked, what it runs, and what else the idle engine goes by. */
  readonly idle?: PodIdleFacts
  readonly initContainers: readonly ContainerFacts[]
  readonly containers: readonly ContainerFacts[]
}

/** Facts of a pod that has an address. Annotations may be written by people, and are as they stand. */
export interface PodIdleFacts {
  readonly ip: string
  /** Its condition Ready is true. */
  readonly ready: boolean
  /** Its address is that of its node. */
  readonly hostNetwork: boolean
  /** Of its first container. */
  readonly image: string
  /** By the cluster's clock; 0 when unknown. */
  readonly startedAtMs: number
  readonly size?: string
  readonly lastActivity?: string
  readonly checked?: string
  readonly keepUntil?: string
}

/** A Kubernetes Event about a pod. Repeats have the same UID and a higher count. */
export interface PodEventFacts {
  readonly uid: string
  readonly namespace: string
  readonly pod: string
  readonly podUid: string
  /** Name of the event's container; absent if the event is about the whole pod, or about an init container. */
  readonly container?: string
  readonly warning: boolean
  readonly reason: string
  readonly message: string
  readonly count: number
}

/**
 * State of a pod that is to become a lab:
 * - `starting`: nothing is wrong yet;
 * - `troubled`: the problem may pass; the creation fails if it lasts longer than the grace period of its cause;
 * - `ready`: the start-up probe has passed: the lab answers;
 * - `ended`: it ended with success before it was ready;
 * - `doomed`: it cannot succeed; the message gives the reason for the user.
 */
export type StartVerdict =
  | { readonly kind: 'starting' | 'ready' | 'ended' }
  | { readonly kind: 'troubled'; readonly cause: 'no-room' | 'registry' | 'unknown'; readonly message: string }
  | { readonly kind: 'doomed'; readonly message: string }

/**
 * State of a running lab's pod. `crashing`: its container ended with an error and is being restarted in the pod (it
 * waits in a crash loop, or was restarted `restarts` times); `unknown`: its node is silent.
 */
export type LifeVerdict =
  | { readonly kind: 'healthy'; readonly restarts: number; readonly message: string }
  | { readonly kind: 'ended'; readonly message: string }
  | { readonly kind: 'crashing'; readonly restarts: number; readonly message: string }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }
