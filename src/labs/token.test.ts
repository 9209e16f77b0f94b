/** Which labs get a token, and which user's. */
import { describe, expect, it } from 'vitest'
import { objectOf, render } from '../../test/kit/labs/plan.ts'
import { ApiError } from '../base/errors.ts'

const gafaelfawr = { provider: 'gafaelfawr', gafaelfawr: { baseUrl: 'https://data.example.org' } }
const oidc = { provider: 'oidc', oidc: { issuer: 'https://id.example.org', audience: 'skylab' } }
const staticProvider = { provider: 'static', static: { file: 'tokens.yaml' } }

const secretOf = (identity: object, lab: object, scopes = ['exec:notebook']) =>
  objectOf(render({ config: { identity, lab }, identity: { scopes } }), 'Secret')

describe('renderLab’s Secret', () => {
  it.each<[string, object, object, boolean]>([
    ['static', staticProvider, {}, false],
    ['oidc', oidc, {}, false],
    ['gafaelfawr', gafaelfawr, {}, true],
    ['oidc', oidc, { token: 'bearer' }, true],
    ['gafaelfawr', gafaelfawr, { token: 'none' }, false],
  ])('has a token with %s, identity %j and lab %j: %j', (_, identity, lab, has) => {
    const secret = secretOf(identity, lab)
    expect(secret?.stringData).toEqual(has ? { token: 'notebook-token' } : undefined)
  })

  it('never has an administrator’s token: the lab is refused', () => {
    const both = ['exec:notebook', 'admin:jupyterlab']
    expect(() => secretOf(oidc, { token: 'bearer' }, both)).toThrow(ApiError)
    expect(() => secretOf(oidc, { token: 'bearer' }, both)).toThrow(/the scope admin:jupyterlab/)
    expect(secretOf(oidc, {}, both)).not.toHaveProperty('stringData')
  })
})
