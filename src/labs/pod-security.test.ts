import { expect, it } from 'vitest'
import { renderWith } from '../../test/kit/labs/plan.ts'
import { configSchema } from '../config/schema.ts'
import { labProblems } from '../settings/lab-checks.ts'

const folder = { name: 'data', hostPath: { path: '/opt' } }
const share = { name: 'data', nfs: { server: '192.0.2.1', path: '/export' } }
const mounts = [{ volume: 'data', path: '/data' }]
const image = 'quay.io/example/provision:1'
const root = { image, runAsRoot: true }
const provisioned = { sources: { provisioned: true } }

it.each<[string, string, object, object?]>([
  ['restricted', 'nothing else is configured', {}],
  ['restricted', 'a user is prepared as themselves', { provisioning: { image } }],
  ['restricted', 'a folder of the node is mounted nowhere', { volumes: [folder] }],
  ['baseline', 'an NFS export is mounted', { volumes: [share], mounts }],
  ['baseline', 'root prepares the user', { provisioning: root }],
  ['restricted', 'root has prepared the user', { provisioning: root }, provisioned],
  ['privileged', 'a folder of the node is mounted', { volumes: [folder], mounts }],
  [
    'privileged',
    'what prepares the user mounts a folder of the node',
    { volumes: [folder], provisioning: { image, mounts } },
  ],
  ['privileged', 'what prepares the user is privileged', { provisioning: { ...root, privileged: true } }],
  [
    'privileged',
    'AppArmor is off',
    { annotations: { 'container.apparmor.security.beta.kubernetes.io/lab': 'unconfined' } },
  ],
  ['baseline', 'it is said', { podSecurity: 'baseline' }],
])('a lab’s namespace enforces %s when %s', (level, _, lab, changes = {}) => {
  expect(renderWith(lab, changes).namespace.metadata.labels).toMatchObject({
    'pod-security.kubernetes.io/enforce': level,
    'pod-security.kubernetes.io/warn': 'restricted',
    'pod-security.kubernetes.io/audit': 'restricted',
  })
})

it('a level is refused when it admits no lab', () => {
  const problems = (lab: object) => labProblems(configSchema.parse({ lab }))
  expect(problems({ volumes: [share], mounts, podSecurity: 'restricted' })).toEqual([
    'lab.podSecurity: this configuration needs baseline',
  ])
  expect(problems({ volumes: [share], mounts, podSecurity: 'privileged' })).toEqual([])
})
