import { describe, expect, it } from 'vitest'
import { KubeError } from './errors.ts'
import { inOperatorsWords, refuserOf, remedyOf } from './refusals.ts'

const account = 'system:serviceaccount:observatory:skylab'
const refusal = (words: string) => new KubeError(403, 'Forbidden', words)
const rights = (verb: string, resource: string, where = 'at the cluster scope') =>
  refusal(`${resource} is forbidden: User "${account}" cannot ${verb} resource "${resource}" in API group "" ${where}`)
const policy = (name: string, words = 'no') =>
  refusal(
    `namespaces "a" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${words}`,
  )
const quota = refusal(
  'pods "nb-ada" is forbidden: exceeded quota: tight, requested: pods=1, used: pods=0, limited: pods=0',
)

describe('refuserOf', () => {
  it.each([
    ['rights', rights('create', 'namespaces')],
    ['rights', rights('list', 'pods')],
    ['policy', policy('skylab')],
    ['policy', policy('somebody-else')],
    ['other', quota],
    [null, new KubeError(404, 'NotFound', `User "${account}" cannot get resource "pods"`)],
    [null, new Error('no')],
  ])('names %s as the refuser', (refuser, error) => {
    expect(refuserOf(error)).toBe(refuser)
  })

  it('names the policy as the refuser when its message quotes a right', () => {
    expect(refuserOf(policy('skylab', 'User "x" cannot create resource'))).toBe('policy')
  })
})

describe('remedyOf', () => {
  const rbac = 'apply k8s/base/rbac.yaml, and rights.yaml as `skylab rights` prints it'
  const ofInstallation = 'apply rights.yaml, as `skylab rights` prints it'

  it.each([
    [rbac, rights('create', 'namespaces')],
    [rbac, rights('get', 'secrets', 'in the namespace "nublado-ada"')],
    [ofInstallation, rights('get', 'secrets', 'in the namespace "observatory"')],
    [rbac, rights('create', 'daemonsets', 'in the namespace "observatory"')],
    [
      'apply k8s/components/tenants',
      refusal('User "system:serviceaccount:observatory:skylab-tenants" cannot create resource "clusterroles"'),
    ],
    [
      'apply k8s/components/notebooks',
      refusal('User "system:serviceaccount:observatory:skylab-notebooks" cannot patch resource "notebooks"'),
    ],
    ['apply k8s/components/notebooks', policy('skylab-notebooks', 'it would change what the notebook is')],
    [
      'apply k8s/components/apps',
      refusal('User "system:serviceaccount:observatory:skylab-apps" cannot create resource "deployments"'),
    ],
    ['apply k8s/components/apps', policy('skylab-apps', 'it runs more than one pod')],
    [rbac, policy('skylab-reserved')],
    [ofInstallation, policy('skylab', 'this account does not own the installation a')],
    [ofInstallation, policy('skylab-labs')],
    ['apply k8s/base/policy.yaml', policy('skylab', 'its op is 6, its namespace has 7')],
    [undefined, policy('somebody-else')],
    [undefined, quota],
    [undefined, new Error('no')],
  ])('returns %s', (remedy, error) => {
    expect(remedyOf(error, 'observatory')).toBe(remedy)
  })
})

it('inOperatorsWords returns the message alone when there is no remedy', () => {
  expect(inOperatorsWords(rights('list', 'pods'))).toMatch(/cannot list resource .*: apply k8s\/base\/rbac\.yaml, and/)
  expect(inOperatorsWords(new Error('the network is away'))).toBe('the network is away')
})
