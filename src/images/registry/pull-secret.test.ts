import { expect, it } from 'vitest'
import type { KubeObject } from '../../base/domain.ts'
import { configSchema } from '../../config/schema.ts'
import { pullSecretReader } from './pull-secret.ts'

const text = '{"auths": {"example.org": {"auth": "YTpi"}}}'
const secret = (data: object): KubeObject => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'pull' }, data })

function readerOf(found: KubeObject | null, secrets: object[]) {
  const asked: object[] = []
  const get = async (ref: object) => {
    asked.push(ref)
    return found
  }
  const { lab } = configSchema.parse({ lab: { secrets } })
  return { read: pullSecretReader({ secrets: lab.secrets, namespace: 'skylab', kube: { get } }), asked }
}
const configured = [
  { name: 'other', key: 'password' },
  { name: 'pull', key: '.dockerconfigjson', pull: true },
]

it('pullSecretReader reads the pull secret anew each time', async () => {
  const { read, asked } = readerOf(secret({ '.dockerconfigjson': Buffer.from(text).toString('base64') }), configured)
  expect([await read(), await read()]).toEqual([text, text])
  const ref = { apiVersion: 'v1', kind: 'Secret', name: 'pull', namespace: 'skylab' }
  expect(asked).toEqual([ref, ref])
})

it('pullSecretReader reads nothing when none is configured', async () => {
  const { read, asked } = readerOf(null, [{ name: 'other', key: 'password' }])
  expect(await read()).toBeUndefined()
  expect(asked).toEqual([])
})

it.each([null, secret({ other: 'eA==' })])('pullSecretReader names the missing object: %j', async found => {
  const words = 'The Secret pull in the namespace skylab has no key .dockerconfigjson'
  await expect(readerOf(found, configured).read()).rejects.toThrow(words)
})
