/** Which deletions our admission policies match. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Policy {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly matchConstraints: { readonly objectSelector?: object; readonly resourceRules: readonly Rule[] }
  }
}
interface Rule {
  readonly operations: readonly string[]
  readonly resources: readonly string[]
}

/** Kinds that labs have in their namespaces, beside pods. */
const kinds = ['configmaps', 'networkpolicies', 'persistentvolumeclaims', 'resourcequotas', 'rolebindings', 'secrets']
const ofLabs = new Set([...kinds, 'services', '*', '*/*'])

test('no policy matches deletions of objects of labs, so the garbage collector removes them when the namespace is gone', () => {
  const policies = globSync('k8s/**/*.yaml', { cwd: root })
    .flatMap(file => parseAllDocuments(readFileSync(`${root}/${file}`, 'utf8')))
    .map(document => document.toJS() as Policy | null)
    .filter(object => object?.kind === 'ValidatingAdmissionPolicy')
    // With a selector it looks up no namespace of others' objects.
    .filter(object => object!.spec.matchConstraints.objectSelector === undefined)
  expect(policies.length).toBeGreaterThan(2)
  const matched = policies.flatMap(policy =>
    policy!.spec.matchConstraints.resourceRules
      .filter(({ operations }) => operations.some(operation => operation === 'DELETE' || operation === '*'))
      .flatMap(({ resources }) =>
        resources.filter(each => ofLabs.has(each)).map(each => `${policy!.metadata.name}: ${each}`),
      ),
  )
  expect(matched).toEqual([])
})
