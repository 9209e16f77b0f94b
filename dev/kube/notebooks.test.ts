import { expect, test } from 'vitest'
import { stampKeys } from '../../src/kube/labels.ts'
import { notebooksAccount, notebooksObjects } from './notebooks.ts'

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes; each test reads other fields
type Manifest = any

const objects: Manifest[] = await notebooksObjects()
const find = (kind: string): Manifest =>
  objects.find(each => each.kind === kind && each.metadata.name === notebooksAccount)
const policy = find('ValidatingAdmissionPolicy')

test('the account of notebooks has no write that its policy does not look at', () => {
  const matched = policy.spec.matchConstraints.resourceRules.flatMap((rule: Manifest) =>
    rule.resources.map((resource: string) => `${rule.apiGroups[0]}/${resource} ${rule.operations}`),
  )
  const rules: Manifest[] = find('ClusterRole').rules
  const writes = rules
    .flatMap(({ apiGroups, resources, verbs }) =>
      verbs.map((verb: string) => [`${apiGroups[0]}/${resources[0]}`, verb]),
    )
    .filter(([, verb]) => !['get', 'list', 'watch'].includes(verb))
  expect(writes).toEqual([
    ['kubeflow.org/notebooks', 'patch'],
    ['apps/statefulsets', 'patch'],
  ])
  for (const [what] of writes) expect(matched).toContain(`${what} CREATE,UPDATE`)
})

test('the policy of notebooks denies, fails closed, and matches no deletion', () => {
  const { spec } = find('ValidatingAdmissionPolicyBinding')
  expect([policy.spec.failurePolicy, spec.validationActions, spec.policyName]).toEqual([
    'Fail',
    ['Deny'],
    notebooksAccount,
  ])
  expect(JSON.stringify(policy.spec.matchConstraints)).not.toContain('DELETE')
})

test('the policy of notebooks has the stamps of the program', () => {
  const { expression } = policy.spec.variables.find(({ name }: { name: string }) => name === 'stamps')
  expect(JSON.parse(expression.replaceAll("'", '"'))).toEqual(stampKeys)
})

test('the account of notebooks is bound to its own role alone', () => {
  const bindings = objects.filter(({ kind }) => kind.endsWith('RoleBinding'))
  const bound = bindings.map(({ roleRef, subjects }) => [roleRef.name, ...subjects.map((each: Manifest) => each.name)])
  expect(bound).toEqual([[notebooksAccount, notebooksAccount]])
})
