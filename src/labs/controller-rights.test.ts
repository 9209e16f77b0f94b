import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { controllerRights, missingOfController } from './controller-rights.ts'
import type { RightsRule } from './rights.ts'

const all = [...controllerRights.everywhere, ...controllerRights.within]

/** The rights of a role of `k8s/base/rbac.yaml`, one by one. */
function grantedBy(role: string): string[] {
  const text = readFileSync(new URL('../../k8s/base/rbac.yaml', import.meta.url), 'utf8')
  const objects = parseAllDocuments(text).map(each => each.toJS() as Role)
  return inWords(objects.find(({ kind, metadata }) => /Role$/.test(kind) && metadata.name === role)!.rules)
}

interface Role {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly rules: readonly RightsRule[]
}

const inWords = (rules: readonly RightsRule[]): string[] =>
  rules
    .flatMap(({ apiGroups, resources, verbs, resourceNames = [''] }) =>
      resources.flatMap(resource => verbs.map(verb => [apiGroups[0], resource, verb, ...resourceNames].join(' '))),
    )
    .sort()

it('controllerRights are the rights that k8s/base/rbac.yaml grants', () => {
  expect(inWords(controllerRights.everywhere)).toEqual(grantedBy('skylab'))
  expect(inWords(controllerRights.within)).toEqual(grantedBy('skylab-prepull'))
  expect(inWords(controllerRights.idle)).toEqual(grantedBy('skylab-idle'))
  expect(inWords(controllerRights.cpu)).toEqual(grantedBy('skylab-cpu'))
})

it('missingOfController names the right to stamp pods only when idle labs are stopped', () => {
  expect(missingOfController(all, { stamps: true })).toEqual({ forLabs: [], others: ['patch pods'] })
  expect(missingOfController([...all, ...controllerRights.idle], { stamps: true })).toEqual({ forLabs: [], others: [] })
})

it('missingOfController names the right to list what pods use only when a rule goes by that', () => {
  const others = ['list pods.metrics.k8s.io']
  expect(missingOfController(all, { cpu: true })).toEqual({ forLabs: [], others })
  expect(missingOfController([...all, ...controllerRights.cpu], { cpu: true })).toEqual({ forLabs: [], others: [] })
})

it('missingOfController returns nothing when all rights are granted', () => {
  expect(missingOfController(all)).toEqual({ forLabs: [], others: [] })
  const anything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
  expect(missingOfController(anything)).toEqual({ forLabs: [], others: [] })
})

it('missingOfController names each missing right, apart by whether labs need it', () => {
  const withdrawn = ['secrets create', 'namespaces create', 'daemonsets patch', 'clusterroles bind']
  const granted = all.filter(({ resources, verbs }) => !withdrawn.includes(`${resources[0]} ${verbs[0]}`))
  expect(missingOfController(granted)).toEqual({
    forLabs: ['create namespaces', 'create secrets'],
    others: ['bind clusterroles skylab-lab', 'patch daemonsets'],
  })
})
