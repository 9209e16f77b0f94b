import { expect, it } from 'vitest'
import { render } from '../../test/kit/labs/plan.ts'
import type { KubeObject } from '../base/domain.ts'
import { credentialIn } from './credential.ts'

const variables = ['JUPYTERHUB_API_TOKEN', 'JUPYTER_TOKEN']
const ofEnv = (env: Record<string, string>, lab = {}) =>
  credentialIn(render({ request: { env }, config: { lab } }).objects, 'nb-rra-env', variables)

it('credentialIn returns the first variable that the env of a plan has', () => {
  expect(ofEnv({ JUPYTER_TOKEN: 'own' })).toBe('own')
  expect(ofEnv({ JUPYTER_TOKEN: 'own', JUPYTERHUB_API_TOKEN: 'hub' })).toBe('hub')
})

it('credentialIn finds a value that is not secret by configuration', () => {
  expect(ofEnv({ JUPYTER_TOKEN: 'own' }, { secretPatterns: ['X'] })).toBe('own')
})

it.each([
  ['there is none', {}],
  ['it is empty', { JUPYTER_TOKEN: '' }],
  ['it would be two headers', { JUPYTER_TOKEN: 'a\r\nb: c' }],
  ['it is longer than a header', { JUPYTER_TOKEN: 'a'.repeat(4097) }],
])('credentialIn returns undefined when %s', (_, env) => {
  expect(ofEnv(env)).toBeUndefined()
})

const standing = (name: string, data: object): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name }, data },
})

it('credentialIn reads a Secret as the cluster shows it, and no other object', () => {
  const data = { JUPYTERHUB_API_TOKEN: Buffer.from('hub').toString('base64') }
  expect(credentialIn([standing('nb-rra-env', data)], 'nb-rra-env', variables)).toBe('hub')
  expect(credentialIn([standing('nb-rra', data)], 'nb-rra-env', variables)).toBeUndefined()
  expect(credentialIn([{ ...standing('nb-rra-env', data), kind: 'Other' }], 'nb-rra-env', variables)).toBeUndefined()
})
