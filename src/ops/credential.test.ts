import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import type { KubeObject } from '../base/domain.ts'
import { configSchema } from '../config/schema.ts'
import { KubeError } from '../kube/client.ts'
import { withOwnership } from '../labs/render.ts'
import { readCredential } from './credential.ts'
import { names, user } from './testing/cluster.ts'

const lab = { user, op: 7, namespaceUid: 'n' }

const base64 = (text: string) => Buffer.from(text).toString('base64')
const standing = (kind: string, data: object, op = 7, owner = 'n'): KubeObject =>
  withOwnership({ apiVersion: 'v1', kind, metadata: { name: names.env, namespace: names.namespace }, data }, op, owner)

function asking(...objects: KubeObject[]) {
  const requests: string[] = []
  const made: KubeObject[] = []
  const kube = {
    account: async () => 'system:serviceaccount:skylab:skylab',
    create: async (object: KubeObject) => {
      requests.push(`create ${object.kind}`)
      made.push(object)
      return object
    },
    get: async ({ kind, name }: { kind: string; name: string }) => {
      requests.push(`get ${kind} ${name}`)
      return objects.find(object => object.kind === kind) ?? null
    },
  }
  const config = configSchema.parse({})
  const options = { kube: kube as never, clock: new ManualClock(), config, variables: ['HUB', 'OWN'] }
  const read = () => readCredential(options, lab, new AbortController().signal)
  return { requests, made, read }
}

it('readCredential binds the controller once, as an object of the lab, and reads both parts of the env', async () => {
  const { requests, made, read } = asking(
    standing('ConfigMap', { OWN: 'plain' }),
    standing('Secret', { HUB: base64('hub-token') }),
  )
  expect(await read()).toBe('hub-token')
  expect(requests.sort()).toEqual([`create RoleBinding`, `get ConfigMap ${names.env}`, `get Secret ${names.env}`])
  expect(made[0]!.metadata).toMatchObject({
    ...{ name: 'skylab-lab', namespace: names.namespace },
    labels: { 'skylab/op': '7', 'skylab/installation': 'skylab' },
    ownerReferences: [{ kind: 'Namespace', uid: 'n' }],
  })
})

it.each([
  ['there is no env', []],
  ['the env has no such variable', [standing('Secret', { OTHER: base64('x') })]],
  ['the env is of another operation', [standing('Secret', { HUB: base64('x') }, 8)]],
  ['the env is of another namespace', [standing('Secret', { HUB: base64('x') }, 7, 'another')]],
])('readCredential returns undefined when %s', async (_, objects) => {
  expect(await asking(...objects).read()).toBeUndefined()
})

it('readCredential throws when the API server refuses', async () => {
  const { read } = asking()
  const options = { kube: {}, clock: new ManualClock(), config: configSchema.parse({}), variables: [] }
  const refused = new KubeError(401, 'Unauthorized', 'no')
  const get = async () => Promise.reject(refused)
  const kube = { account: async () => 'a', create: async (object: KubeObject) => object, get }
  await expect(readCredential({ ...options, kube: kube as never }, lab, new AbortController().signal)).rejects.toBe(
    refused,
  )
  expect(await read()).toBeUndefined()
})
