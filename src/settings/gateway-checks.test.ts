import { describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { configWarnings, crossProblems } from './checks.ts'

const calm = { publicUrl: 'https://platform.example.org', trustedProxies: ['10.0.0.0/8'] }
const identity = { provider: 'static', static: { file: 'tokens.yaml' } }
const parsed = (gateway: object, more: object = {}) =>
  configSchema.parse({ run: ['gateway'], identity, gateway: { ...calm, ...gateway }, ...more })

const issuer = {
  provider: 'oidc',
  oidc: { issuer: 'https://i.example.org', audience: 'a', claims: { scopes: 'roles' } },
}
const ofOidc = (gateway: object = {}, of: object = issuer) =>
  parsed({ login: 'oidc', keyFiles: ['key'], oidc: { clientId: 'skylab' }, ...gateway }, { identity: of })

describe('crossProblems of a gateway', () => {
  it('has none when all is there', () => {
    expect(crossProblems(parsed({}))).toEqual([])
  })

  it.each([
    [{ publicUrl: undefined }, 'gateway.publicUrl: is required by a process that runs the gateway'],
    [{ publicUrl: 'https://a.example.org/x' }, 'gateway.publicUrl: has more than scheme, host and port'],
    [{ publicUrl: 'https://u:p@a.example.org' }, 'gateway.publicUrl: has more than scheme, host and port'],
    [{ publicUrl: 'https://a.example.org/?x' }, 'gateway.publicUrl: has more than scheme, host and port'],
    [{ publicUrl: 'http://a.example.org' }, 'gateway.publicUrl: is not https://, and not this machine'],
    [{ publicUrl: 'http://localhost.example.org' }, 'gateway.publicUrl: is not https://, and not this machine'],
    [
      { appDomain: 'example.org' },
      'gateway.appDomain: gateway.publicUrl is at this domain or below it, so an app could have its host',
    ],
  ])('has a problem when the block is %j', (gateway, problem) => {
    expect(crossProblems(parsed(gateway))).toEqual([problem])
  })

  it.each(['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]', 'https://a.example.org/'])(
    'has none when the address is %s',
    publicUrl => {
      expect(crossProblems(parsed({ publicUrl }))).toEqual([])
    },
  )

  it('has a problem when logins take tokens of a provider that is not there', () => {
    const oidc = { provider: 'oidc', oidc: { issuer: 'https://i.example.org', audience: 'a' } }
    expect(crossProblems(parsed({}, { identity: oidc }))).toEqual([
      'gateway.login: static takes the tokens of identity.static, and identity.provider is oidc',
    ])
    expect(crossProblems(parsed({}, { identity: { provider: 'static' } }))).toEqual([
      'identity.static.file: is required by the provider static',
    ])
  })

  it.each([
    [{ oidc: undefined }, {}, 'gateway.oidc: is required by login: oidc'],
    [{ keyFiles: [] }, {}, 'gateway.keyFiles: no key, by which login: oidc seals tokens'],
    [{}, { provider: 'oidc' }, 'identity.oidc: is required by the provider oidc'],
    [
      {},
      identity,
      'gateway.login: oidc takes the issuer and the claims of identity.oidc, and identity.provider is static',
    ],
  ])('has a problem when people log in at an issuer and the blocks are %j and %j', (gateway, of, problem) => {
    const config = ofOidc(gateway, Object.keys(of).length > 0 ? of : undefined)
    expect(crossProblems(config)).toEqual([problem])
  })

  it.each<[object, boolean]>([
    [{}, true],
    [{ tokenType: 'JWT' }, true],
    [{ authorizedParties: ['portal', 'a'] }, true],
    [{ tokenType: 'at+jwt' }, false],
    [{ authorizedParties: ['portal'] }, false],
  ])('has a problem when the client is the audience, and %j lets an ID token pass: %j', (more, isProblem) => {
    const of = { ...issuer, oidc: { ...issuer.oidc, ...more } }
    const problem = expect.stringMatching(/^gateway\.oidc\.clientId: is also identity\.oidc\.audience/)
    expect(crossProblems(ofOidc({ oidc: { clientId: 'a' } }, of))).toEqual(isProblem ? [problem] : [])
  })

  it('has a problem when people log in behind Gafaelfawr, and nothing shows which requests are of its ingress', () => {
    const provider = { provider: 'gafaelfawr', gafaelfawr: { baseUrl: 'https://data.example.org' } }
    const gateway = { login: 'gafaelfawr', keyFiles: ['key'], gafaelfawr: {} }
    const words = 'gateway.gafaelfawr.secretFiles: no secret shared with the ingress of /console/login'
    expect(crossProblems(parsed(gateway, { identity: provider }))).toEqual([words])
    expect(crossProblems(parsed({ ...gateway, gafaelfawr: undefined }, { identity: provider }))).toEqual([words])
    expect(crossProblems(parsed({ ...gateway, gafaelfawr: { secretFiles: ['a'] } }, { identity: provider }))).toEqual(
      [],
    )
  })

  it('has a problem when one key seals logins and plans of labs', () => {
    expect(crossProblems(parsed({ keyFiles: ['a', 'b'] }, { sealing: { keyFiles: ['b'] } }))).toEqual([
      'gateway.keyFiles.1: is also a file of sealing.keyFiles',
    ])
  })

  it('has none when the process serves labs: the block is that of another', () => {
    const config = configSchema.parse({ identity, gateway: { publicUrl: 'http://a.example.org/x' } })
    expect(crossProblems(config)).toEqual([])
  })
})

describe('configWarnings of a gateway', () => {
  const isStatic = 'gateway.login: static is for demos and tests, never for real users'

  it('tells that its login is for demos alone', () => {
    expect(configWarnings(parsed({}))).toEqual([isStatic])
  })

  it('has none of a login at an issuer', () => {
    expect(configWarnings(ofOidc())).toEqual([])
  })

  it.each([
    [{ recheckSeconds: 0 }, issuer, /^gateway\.recheckSeconds: is 0/],
    [{ gafaelfawr: {} }, issuer, /^gateway\.gafaelfawr: has no effect with login: oidc/],
    [{}, { ...issuer, oidc: { ...issuer.oidc, claims: {} } }, /^gateway\.oidc\.scopes: lacks exec:notebook/],
  ])('tells of a login at an issuer when the blocks are %j and %j', (gateway, of, warning) => {
    expect(configWarnings(ofOidc(gateway, of))).toEqual([expect.stringMatching(warning)])
  })

  it.each([
    [{ publicUrl: 'http://localhost' }, /^gateway\.publicUrl: is http:/],
    [{ trustedProxies: [] }, /^gateway\.trustedProxies: is empty/],
    [{ appDomain: 'apps.example.org' }, /^gateway\.appDomain: is below example\.org/],
  ])('has another one when the block is %j', (gateway, warning) => {
    expect(configWarnings(parsed(gateway))).toEqual([isStatic, expect.stringMatching(warning)])
  })
})

it.each([
  [{ colour: 'blue' }, 'colour'],
  [{ limits: { apps: 1 } }, 'apps'],
  [{ trustedProxies: ['10.0.0.1'] }, 'CIDR'],
  [{ activity: { ignorePaths: ['health'] } }, 'path'],
  [{ login: 'form' }, 'static'],
  ...['*.apps.example.net', 'https://apps.example.net', 'Apps.example.net', 'apps.example.net:8443', '.apps'].map(
    (appDomain): [object, string] => [{ appDomain }, 'not the name of a host'],
  ),
  [{ oidc: { clientId: 'a', scopes: ['groups'] } }, 'lacks openid'],
  [{ oidc: { clientId: 'a', scopes: ['openid', 'a b'] } }, 'not a scope'],
  [{ oidc: { clientId: 'a', parameters: { state: 'x' } } }, 'itself sends'],
  [{ oidc: {} }, 'clientId'],
  [{ recheckSeconds: 301 }, '300'],
  [{ gafaelfawr: { secrets: [] } }, 'secrets'],
])('the schema of the gateway refuses %j', (gateway, words) => {
  const refused = configSchema.safeParse({ gateway })
  expect(JSON.stringify(refused.error?.issues)).toContain(words)
})
