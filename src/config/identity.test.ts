import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { loadSettings } from '../settings/load.ts'
import { ConfigError } from './problems.ts'

const env = { SKYLAB_SEALING_KEY: Buffer.alloc(32).toString('base64') }
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skylab-config-'))
  await writeFile(join(folder, 'secret'), 'hunter2-hunter2-hunter2\n')
  await writeFile(join(folder, 'next'), 'hunter3-hunter3-hunter3')
  await writeFile(join(folder, 'admin'), 'hunter4-hunter4-hunter4')
  await writeFile(join(folder, 'copy'), 'hunter2-hunter2-hunter2')
  await writeFile(join(folder, 'short'), 'hunter2')
  await writeFile(join(folder, 'spaced'), 'hunter2 hunter2 hunter2')
  await writeFile(join(folder, 'listed'), 'hunter2,hunter2,hunter2')
  await writeFile(join(folder, 'empty'), '\n')
})
afterEach(() => rm(folder, { recursive: true }))

async function load(identity: object) {
  const file = join(folder, 'skylab.yaml')
  await writeFile(file, stringify({ identity }, { version: '1.1' }))
  return loadSettings(file, env)
}

const ofIdentity = ({ warnings }: { readonly warnings: readonly string[] }) =>
  warnings.filter(warning => warning.startsWith('identity.'))

async function problemsOf(identity: object): Promise<readonly string[]> {
  const error = await load(identity).catch(error => error)
  expect(error).toBeInstanceOf(ConfigError)
  return error.problems
}

const baseUrl = 'https://data.example.org'
const gafaelfawr = (block: object) => ({ provider: 'gafaelfawr', gafaelfawr: { baseUrl, ...block } })
const both = { userSecretFiles: ['secret'], adminSecretFiles: ['admin'] }
const oidc = (block: object) => ({
  provider: 'oidc',
  oidc: { issuer: 'https://login.example.org', audience: 'skylab', ...block },
})

describe('identity.gafaelfawr', () => {
  it('reads the secrets shared with each ingress', async () => {
    const { config, ingressSecrets, tokens, warnings } = await load(
      gafaelfawr({ ...both, userSecretFiles: ['secret', 'next'] }),
    )
    expect(config.identity.gafaelfawr).toMatchObject({ baseUrl, cacheSeconds: 5, trustWithoutSecret: false })
    expect(ingressSecrets).toEqual({
      user: ['hunter2-hunter2-hunter2', 'hunter3-hunter3-hunter3'],
      admin: ['hunter4-hunter4-hunter4'],
      lab: [],
    })
    expect([tokens, ofIdentity({ warnings })]).toEqual([[], []])
  })

  it('goes without secrets only on request, and warns', async () => {
    const { ingressSecrets, warnings } = await load(gafaelfawr({ trustWithoutSecret: true }))
    expect(ingressSecrets).toEqual({ user: [], admin: [], lab: [] })
    expect(warnings.join()).toMatch(/trustWithoutSecret/)
  })

  it.each([
    ['identity.gafaelfawr.userSecretFiles', gafaelfawr({ adminSecretFiles: ['admin'] })],
    ['identity.gafaelfawr.adminSecretFiles', gafaelfawr({ userSecretFiles: ['secret'] })],
    ['identity.gafaelfawr.trustWithoutSecret', gafaelfawr({ ...both, trustWithoutSecret: true })],
    ['identity.gafaelfawr.trustWithoutSecret', gafaelfawr({ adminSecretFiles: ['admin'], trustWithoutSecret: true })],
    ['identity.gafaelfawr.userSecretFiles.0', gafaelfawr({ ...both, userSecretFiles: ['nowhere'] })],
    ['identity.gafaelfawr.userSecretFiles.1', gafaelfawr({ ...both, userSecretFiles: ['secret', 'short'] })],
    ['identity.gafaelfawr.userSecretFiles.0', gafaelfawr({ ...both, userSecretFiles: ['spaced'] })],
    ['identity.gafaelfawr.adminSecretFiles.0', gafaelfawr({ ...both, adminSecretFiles: ['listed'] })],
    ['identity.gafaelfawr.adminSecretFiles.0', gafaelfawr({ ...both, adminSecretFiles: ['empty'] })],
    ['identity.gafaelfawr.adminSecretFiles.0', gafaelfawr({ ...both, adminSecretFiles: ['secret'] })],
    ['identity.gafaelfawr.adminSecretFiles.1', gafaelfawr({ ...both, adminSecretFiles: ['admin', 'copy'] })],
    ['identity.gafaelfawr.labSecretFiles.0', gafaelfawr({ ...both, labSecretFiles: ['secret'] })],
    ['identity.gafaelfawr.labSecretFiles.1', gafaelfawr({ ...both, labSecretFiles: ['next', 'admin'] })],
    ['identity.gafaelfawr.trustWithoutSecret', gafaelfawr({ labSecretFiles: ['next'], trustWithoutSecret: true })],
    ['identity.gafaelfawr.secretFiles', gafaelfawr({ ...both, secretFiles: ['secret'] })],
    ['identity.gafaelfawr', { provider: 'gafaelfawr' }],
    ['identity.gafaelfawr.baseUrl', gafaelfawr({ baseUrl: 'http://gafaelfawr.svc:8080', ...both })],
    ['identity.gafaelfawr.baseUrl', gafaelfawr({ baseUrl: 'https://me:hunter2@host', ...both })],
    ['identity.gafaelfawr.baseUrl', gafaelfawr({ baseUrl: 'https://host/?hunter2', ...both })],
    ['identity.gafaelfawr.baseUrl', gafaelfawr({ baseUrl: 'data.example.org', ...both })],
    ['identity.gafaelfawr.cacheSeconds', gafaelfawr({ cacheSeconds: 3600, ...both })],
    ['identity.gafaelfawr.secretFile', gafaelfawr({ secretFile: 'secret', ...both })],
  ])('names %s alone', async (key, identity) => {
    const problems = await problemsOf(identity)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${key.replaceAll('.', '\\.')}: `))
    expect(problems[0]).not.toMatch(/hunter/)
  })

  it('explains that each ingress needs its own secrets', async () => {
    const [same] = await problemsOf(gafaelfawr({ ...both, adminSecretFiles: ['copy'] }))
    expect(same).toMatch(/is the same secret as identity\.gafaelfawr\.userSecretFiles\.0; each ingress needs/)
    const [old] = await problemsOf(gafaelfawr({ ...both, secretFiles: ['secret'] }))
    expect(old).toMatch(/was replaced by userSecretFiles and adminSecretFiles/)
    expect(await problemsOf(gafaelfawr({}))).toHaveLength(2)
  })
})

describe('identity.oidc', () => {
  it('has defaults, and accepts http:// for an issuer on this machine', async () => {
    const { config } = await load(oidc({ issuer: 'http://127.0.0.1:9000/realms/lab' }))
    expect(config.identity.oidc).toMatchObject({ algorithms: ['RS256'], claims: { username: 'sub', scopes: 'scope' } })
  })

  it.each([
    ['identity.oidc', { provider: 'oidc' }],
    ['identity.oidc.issuer', oidc({ issuer: 'http://login.example.org' })],
    ['identity.oidc.issuer', oidc({ issuer: undefined })],
    ['identity.oidc.audience', oidc({ audience: '' })],
    ['identity.oidc.audience', oidc({ audience: undefined })],
    ['identity.oidc.algorithms', oidc({ algorithms: [] })],
    ['identity.oidc.algorithms.0', oidc({ algorithms: ['none'] })],
    ['identity.oidc.algorithms.1', oidc({ algorithms: ['RS256', 'HS256'] })],
    ['identity.oidc.claims.uid', oidc({ claims: { uid: [] } })],
    ['identity.oidc.claims.mail', oidc({ claims: { mail: 'mail' } })],
    ['identity.oidc.groupScopes.staff.0', oidc({ groupScopes: { staff: ['exec:everything'] } })],
    ['identity.oidc.clockSkewSeconds', oidc({ clockSkewSeconds: 3600 })],
    ['identity.provider', { provider: 'ldap' }],
  ])('names %s alone', async (key, identity) => {
    const problems = await problemsOf(identity)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${key.replaceAll('.', '\\.')}: `))
  })
})

describe('certificates of ingresses', () => {
  const names = { userCertificateNames: ['user.skylab'], adminCertificateNames: ['admin.skylab'] }

  it.each([
    ['identity.gafaelfawr.userSecretFiles', { adminCertificateNames: ['admin.skylab'] }, 2],
    ['identity.gafaelfawr.userCertificateNames', names, 2],
    ['identity.gafaelfawr.adminCertificateNames.0', { ...both, adminCertificateNames: ['Not.A.Name'] }, 1],
    ['identity.gafaelfawr.trustWithoutSecret', { ...names, trustWithoutSecret: true }, 1],
    ['identity.gafaelfawr.labCertificateNames', { ...both, labCertificateNames: ['lab.skylab'] }, 1],
  ])('are a problem of %s', async (key, block, count) => {
    const problems = await problemsOf(gafaelfawr(block))
    expect(problems).toHaveLength(count)
    expect(problems[0]).toMatch(new RegExp(`^${key.replaceAll('.', '\\.')}: `))
  })

  it('are a problem when both ingresses have the same name', async () => {
    const same = { ...names, adminCertificateNames: ['other.skylab', 'user.skylab'] }
    const problems = await problemsOf(gafaelfawr(same))
    expect(problems.at(-1)).toMatch(
      /^identity\.gafaelfawr\.adminCertificateNames\.1: is also a name of the users’ ingress/,
    )
    const ofLabs = await problemsOf(gafaelfawr({ ...names, labCertificateNames: ['user.skylab', 'admin.skylab'] }))
    expect(ofLabs.slice(-2)).toEqual([
      expect.stringMatching(/labCertificateNames\.0: is also a name of the users’ ingress/),
      expect.stringMatching(/labCertificateNames\.1: is also a name of the administrators’ ingress/),
    ])
  })
})

describe('tokens of any type', () => {
  it.each([
    [{}, true],
    [{ tokenType: 'JWT' }, true],
    [{ tokenType: 'at+jwt' }, false],
    [{ tokenType: 'application/at+JWT' }, false],
    [{ authorizedParties: ['hub'] }, false],
  ])('are warned of with %j: %s', async (block, isWarned) => {
    const warnings = ofIdentity(await load(oidc(block)))
    expect(warnings).toEqual(isWarned ? [expect.stringMatching(/^identity\.oidc\.tokenType: is not at\+jwt/)] : [])
  })
})

describe('the page for operators', () => {
  it('has an example for each provider, which loads', async () => {
    await writeFile(join(folder, 'tokens.yaml'), 'tokens: []')
    await writeFile(join(folder, 'ingress-user-secret'), 'a'.repeat(64))
    await writeFile(join(folder, 'ingress-admin-secret'), 'b'.repeat(64))
    const page = await readFile(new URL('../../docs/identity.md', import.meta.url), 'utf8')
    const examples = Array.from(page.matchAll(/```yaml\n(.*?)```/gs), match => parse(match[1]!).identity)
    expect(examples.map(({ provider }) => provider)).toEqual(['static', 'gafaelfawr', 'oidc'])
    for (const identity of examples) expect(ofIdentity(await load(identity))).toEqual([])
  })
})
