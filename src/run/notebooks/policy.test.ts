import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { KubeError } from '../../kube/client.ts'
import { untilInForce } from '../in-force.ts'
import { askForNotebookPolicy, hasSubjects, type PolicySubjects } from './policy.ts'

type Kube = Parameters<typeof askForNotebookPolicy>[0]

const account = 'system:serviceaccount:skylab:skylab-notebooks'
const denied = (policy: string) =>
  new KubeError(403, 'Forbidden', `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: no`)
const byPolicy = denied('skylab-notebooks')
const byRights = new KubeError(403, 'Forbidden', `forbidden: User "${account}" cannot patch resource "notebooks"`)

const subject = (name: string, deleting = false) => ({ namespace: 'team', name, uid: `uid-of-${name}`, deleting })
const listOf = (...subjects: ReturnType<typeof subject>[]) => ({ values: () => subjects })
const both: PolicySubjects = { notebooks: listOf(subject('ada')), statefulSets: listOf(subject('bob')) }

type Answer = Error | 'accepted' | 'gone'

async function ask(answers: Readonly<Record<string, Answer>> = {}, subjects = both) {
  const sent: unknown[] = []
  const patch: Kube['patch'] = async ({ apiVersion, kind, namespace, name, uid }, body, { dryRun } = {}) => {
    sent.push([`${apiVersion} ${kind} ${namespace}/${name} ${uid}`, Object.keys(body.metadata!), dryRun])
    const answer = answers[kind] ?? byPolicy
    if (answer instanceof Error) throw answer
    return answer === 'gone' ? null : { apiVersion, kind, metadata: { name } }
  }
  const answer = await askForNotebookPolicy(
    { account: async () => account, patch },
    subjects,
    new AbortController().signal,
  )
  return { answer, sent }
}

test('askForNotebookPolicy finds it in force when it refuses a label of one object of each kind, by dry runs alone', async () => {
  const subjects = {
    notebooks: listOf(subject('leaving', true), subject('ada'), subject('eve')),
    statefulSets: listOf(subject('bob')),
  }
  const { answer, sent } = await ask({}, subjects)
  expect(answer).toEqual({ active: true, reason: null, missing: [] })
  expect(sent).toEqual([
    ['kubeflow.org/v1 Notebook team/ada uid-of-ada', ['labels'], true],
    ['apps/v1 StatefulSet team/bob uid-of-bob', ['labels'], true],
  ])
})

test.each<[string, Record<string, Answer>, string]>([
  ['a label of a notebook is accepted', { Notebook: 'accepted' }, `a label of a notebook was accepted from ${account}`],
  ['one of a StatefulSet is accepted', { StatefulSet: 'accepted' }, 'a label of a StatefulSet was accepted'],
  ['another policy refuses it', { Notebook: denied('others') }, "ValidatingAdmissionPolicy 'others'"],
])('askForNotebookPolicy finds it missing when %s', async (_, answers, words) => {
  const { answer } = await ask(answers)
  expect(answer).toEqual({ active: false, reason: expect.stringContaining(words), missing: [] })
})

test('askForNotebookPolicy cannot tell when the account may not patch', async () => {
  const { answer } = await ask({ Notebook: byRights })
  expect(answer).toEqual({ active: null, reason: expect.stringContaining('cannot patch'), missing: [] })
})

test.each<[string, Answer]>([
  ['is gone by now', 'gone'],
  ['is another one by now', new KubeError(409, 'Conflict', 'the UID differs')],
  ['is asked for at a silent API server', new RetryLater('away')],
])('askForNotebookPolicy has no answer when the object %s', async (_, answer) => {
  await expect(ask({ StatefulSet: answer })).rejects.toThrow(RetryLater)
})

test('askForNotebookPolicy has no answer when there is nothing to ask about', async () => {
  const none = { notebooks: listOf(subject('leaving', true)), statefulSets: listOf() }
  expect([hasSubjects(none), hasSubjects(both)]).toEqual([false, true])
  await expect(ask({}, none)).rejects.toThrow('no notebook and no StatefulSet')
})

test('untilInForce waits while there is a refusal, and names the present one', async () => {
  const clock = new ManualClock()
  const policies = { refusal: 'no answer' as string | undefined }
  const waiting = new Set<string>()
  const done = untilInForce(policies, waiting, clock, new AbortController().signal)
  for (const next of ['not at work', undefined]) {
    const ms = await clock.sleepBetween(1, 1000)
    expect([...waiting]).toEqual([policies.refusal])
    policies.refusal = next
    clock.advance(ms)
  }
  await done
  expect([...waiting]).toEqual([])
})
