/** Words for what pods run, and for reasons of the cluster, in messages to users. Pure. */

/** Nouns for messages to users about a container, by its purpose. */
export interface Words {
  readonly image: string
  readonly container: string
  readonly crash: string
}

/** How messages to users call what the pod runs. */
export interface ThingWords {
  readonly thing: 'lab' | 'app'
  readonly main: Words
  /** For init containers. */
  readonly preparation: Words
}

const wordsOf = (thing: ThingWords['thing']): ThingWords => ({
  thing,
  main: {
    image: 'The image',
    container: `The ${thing}'s container`,
    crash: `The ${thing} stopped before it had started`,
  },
  preparation: {
    image: `The image that prepares the ${thing}`,
    container: `The container that prepares the ${thing}`,
    crash: `The ${thing} could not be prepared`,
  },
})

export const labWords = wordsOf('lab')
export const appWords = wordsOf('app')

/** Reasons of the cluster for the end of a pod. */
export const reasonsInWords: Readonly<Record<string, string>> = {
  Evicted: 'its node evicted it',
  Preempting: 'its node needed the room for something more important',
  PreemptionByScheduler: 'the scheduler needed the room for something more important',
  EvictionByEvictionAPI: 'it was evicted from its node, which is probably under maintenance',
  DeletionByTaintManager: 'its node was closed to it',
  DeletionByPodGC: 'its node is gone',
  TerminationByKubelet: 'its node evicted it',
  NodeLost: 'its node is gone',
  NodeShutdown: 'its node was shut down',
  Terminated: 'its node was shut down',
  DeadlineExceeded: 'it ran longer than it may',
  OOMKilled: 'it used more memory than its size allows',
  UnexpectedAdmissionError: 'its node refused it',
  NodeAffinity: 'its node refused it',
  OutOfcpu: 'its node had no CPU left',
  OutOfmemory: 'its node had no memory left',
  OutOfpods: 'its node had no place for another pod',
}
