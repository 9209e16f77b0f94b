/** Facts for tests: of a pod that is starting, with a test's changes. */
import type { ContainerFacts, PodEventFacts, PodFacts, TerminationFacts } from '../../../src/kube/pods/facts.ts'

export function podFacts(facts: Partial<PodFacts> = {}): PodFacts {
  return {
    name: 'nb-ada',
    namespace: 'nublado-ada',
    uid: 'pod-uid',
    installation: 'skylab',
    op: 7,
    user: 'ada',
    ownerUid: 'namespace-uid',
    phase: 'Pending',
    reason: '',
    message: '',
    deleting: false,
    node: 'node-1',
    unschedulable: undefined,
    initContainers: [],
    containers: [containerFacts()],
    ...facts,
  }
}

export function containerFacts(facts: Partial<ContainerFacts> = {}): ContainerFacts {
  return {
    name: 'lab',
    started: false,
    ready: false,
    restartCount: 0,
    waiting: undefined,
    running: false,
    terminated: undefined,
    lastTerminated: undefined,
    ...facts,
  }
}

export function terminationFacts(facts: Partial<TerminationFacts> = {}): TerminationFacts {
  return { exitCode: 1, reason: 'Error', message: '', finishedAtMs: 0, ...facts }
}

export function podEventFacts(facts: Partial<PodEventFacts> = {}): PodEventFacts {
  return {
    uid: 'event-uid',
    namespace: 'nublado-ada',
    pod: 'nb-ada',
    podUid: 'pod-uid',
    warning: false,
    reason: 'Pulling',
    message: 'Pulling image "some/lab:1"',
    count: 1,
    ...facts,
  }
}
