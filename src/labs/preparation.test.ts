/** Effects of the init container on a lab (SQR-066, "User provisioning"): its failures, its image, its time. */
import { describe, expect, it } from 'vitest'
import { containerFacts, podFacts, terminationFacts } from '../../test/kit/labs/pod-facts.ts'
import type { ContainerFacts, PodFacts } from '../kube/pods/facts.ts'
import { judgeLife, judgeStart, preparationMessage } from '../kube/pods/judge.ts'

const crash = terminationFacts({ exitCode: 3, message: 'Traceback\nImportError: no module\n' })
const done = terminationFacts({ exitCode: 0, reason: 'Completed' })
const preparing = (container: Partial<ContainerFacts>, pod: Partial<PodFacts> = {}) =>
  podFacts({
    containers: [containerFacts({ waiting: { reason: 'PodInitializing', message: '' } })],
    ...pod,
    initContainers: [containerFacts({ name: 'provision', ...container })],
  })

describe('judgeStart', () => {
  it.each<[string, Partial<ContainerFacts>]>([
    ['failed', { terminated: crash }],
    ['runs again', { running: true, restartCount: 1, lastTerminated: crash }],
    [
      'waits to be run again',
      { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' }, restartCount: 1, lastTerminated: crash },
    ],
  ])('reports a failed lab at the first failure of preparation: %s', (_, container) => {
    expect(judgeStart(preparing(container))).toEqual({
      kind: 'doomed',
      message: 'The lab could not be prepared: exit code 3\nTraceback\nImportError: no module',
    })
  })

  it.each<[string, Partial<ContainerFacts>]>([
    ['runs', { running: true }],
    ['ended well', { terminated: done }],
    ['ended well at last', { terminated: done, restartCount: 1, lastTerminated: crash }],
  ])('reports a starting lab: %s', (_, container) => {
    expect(judgeStart(preparing(container))).toEqual({ kind: 'starting' })
  })

  it('ignores the init container when the lab has started since, though its node runs it again', () => {
    expect(judgeStart(preparing({ terminated: crash }, { everReady: true }))).toEqual({ kind: 'ready' })
  })

  it('waits when the container runtime may be in trouble', () => {
    const startError = (message: string) =>
      preparing({ terminated: terminationFacts({ exitCode: 128, reason: 'StartError', message }) })
    expect(judgeStart(startError('context deadline exceeded'))).toMatchObject({ kind: 'troubled', cause: 'unknown' })
    expect(judgeStart(startError('exec: "prepare": executable file not found in $PATH')).kind).toBe('doomed')
  })

  it.each([
    [
      'ErrImagePull',
      'some/prepare:1: not found',
      'doomed',
      'The image that prepares the lab cannot be pulled: it does',
    ],
    ['ErrImagePull', 'denied: access is denied', 'doomed', 'The image that prepares the lab cannot be pulled: the reg'],
    [
      'ErrImagePull',
      'toomanyrequests: slow down',
      'troubled',
      'The image that prepares the lab could not be pulled yet',
    ],
    [
      'CreateContainerConfigError',
      'configmap not found',
      'troubled',
      'The container that prepares the lab could not be',
    ],
  ])('names preparation as the cause: %s, %s', (reason, message, kind, words) => {
    const verdict = judgeStart(preparing({ waiting: { reason, message } }))
    expect(verdict).toMatchObject({ kind, message: expect.stringContaining(words) })
  })
})

describe('preparationMessage', () => {
  it('describes preparation while it runs', () => {
    expect(preparationMessage(preparing({ running: true }))).toBe('Preparing what the lab needs')
    expect(preparationMessage(preparing({ terminated: done }))).toBeNull()
    expect(preparationMessage(podFacts())).toBeNull()
  })
})

describe('judgeLife', () => {
  it('reports a crashing lab while its restarted node cannot prepare it again', () => {
    const back: Partial<PodFacts> = { phase: 'Running', everReady: true }
    expect(judgeLife(preparing({ running: true, lastTerminated: crash }, back))).toEqual({
      ...{ kind: 'crashing', restarts: 0 },
      message: 'The lab could not be prepared again: exit code 3\nTraceback\nImportError: no module',
    })
    expect(judgeLife(preparing({ terminated: done, lastTerminated: crash }, back)).kind).toBe('healthy')
  })
})
