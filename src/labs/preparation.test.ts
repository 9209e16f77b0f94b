/** What the init container means for a lab (SQR-066, "User provisioning"): its failures, its image, its time. */
import { describe, expect, it } from 'vitest'
import { containerFacts, podFacts, terminationFacts } from '../../test/kit/labs/pod-facts.ts'
import type { ContainerFacts, PodFacts } from '../kube/pods/facts.ts'
import { judgeLife, judgeStart, tellPreparation } from '../kube/pods/judge.ts'

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
  ])('dooms the lab at its first failure: %s', (_, container) => {
    expect(judgeStart(preparing(container))).toEqual({
      kind: 'doomed',
      message: 'The lab could not be prepared: exit code 3\nTraceback\nImportError: no module',
    })
  })

  it.each<[string, Partial<ContainerFacts>]>([
    ['runs', { running: true }],
    ['ended well', { terminated: done }],
    ['ended well at last', { terminated: done, restartCount: 1, lastTerminated: crash }],
  ])('does the lab no harm: %s', (_, container) => {
    expect(judgeStart(preparing(container))).toEqual({ kind: 'starting' })
  })

  it('is nothing to a lab that has started since, though its node runs it anew', () => {
    expect(judgeStart(preparing({ terminated: crash }, { everReady: true }))).toEqual({ kind: 'ready' })
  })

  it('may have met a runtime in trouble', () => {
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
  ])('is told apart from the lab: %s, %s', (reason, message, kind, words) => {
    const verdict = judgeStart(preparing({ waiting: { reason, message } }))
    expect(verdict).toMatchObject({ kind, message: expect.stringContaining(words) })
  })
})

describe('tellPreparation', () => {
  it('tells of it while it goes on', () => {
    expect(tellPreparation(preparing({ running: true }))).toBe('Preparing what the lab needs')
    expect(tellPreparation(preparing({ terminated: done }))).toBeNull()
    expect(tellPreparation(podFacts())).toBeNull()
  })
})

describe('judgeLife', () => {
  it('a lab is crashing while its node, restarted, cannot prepare it again', () => {
    const back: Partial<PodFacts> = { phase: 'Running', everReady: true }
    expect(judgeLife(preparing({ running: true, lastTerminated: crash }, back))).toEqual({
      ...{ kind: 'crashing', restarts: 0 },
      message: 'The lab could not be prepared again: exit code 3\nTraceback\nImportError: no module',
    })
    expect(judgeLife(preparing({ terminated: done, lastTerminated: crash }, back)).kind).toBe('healthy')
  })
})
