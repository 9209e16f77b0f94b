import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { loadSettings } from './load.ts'
import { ConfigError } from './problems.ts'

const env = { SKYLAB_SEALING_KEY: Buffer.alloc(32).toString('base64') }
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skylab-config-'))
  await writeFile(join(folder, 'secret'), 'hunter2-hunter2-hunter2\n')
  await writeFile(join(folder, 'next'), 'hunter3-hunter3-hunter3')
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

async function problemsOf(identity: object): Promise<readonly string[]> {
  const error = await load(identity).catch(error => error)
  expect(error).toBeInstanceOf(ConfigError)
  return error.problems
}

const baseUrl = 'https://data.example.org'
const gafaelfawr = (block: object) => ({ provider: 'gafaelfawr', gafaelfawr: { baseUrl, ...block } })
const oidc = (block: object) => ({
  provider: 'oidc',
  oidc: { issuer: 'https://login.example.org', audience: 'skylab', ...block },
})

describe('gafaelfawr', () => {
  it('reads the secrets that are shared with the ingress', async () => {
    const { config, ingressSecrets, tokens, warnings } = await load(gafaelfawr({ secretFiles: ['secret', 'next'] }))
    expect(config.identity.gafaelfawr).toMatchObject({ baseUrl, cacheSeconds: 5, trustWithoutSecret: false })
    expect(ingressSecrets).toEqual(['hunter2-hunter2-hunter2', 'hunter3-hunter3-hunter3'])
    expect([tokens, warnings]).toEqual([[], []])
  })

  it('does without a secret only where that is said, and warns', async () => {
    const { ingressSecrets, warnings } = await load(gafaelfawr({ trustWithoutSecret: true }))
    expect(ingressSecrets).toEqual([])
    expect(warnings.join()).toMatch(/trustWithoutSecret/)
  })

  it.each([
    ['identity.gafaelfawr.secretFiles', gafaelfawr({})],
    ['identity.gafaelfawr.trustWithoutSecret', gafaelfawr({ secretFiles: ['secret'], trustWithoutSecret: true })],
    ['identity.gafaelfawr.secretFiles.0', gafaelfawr({ secretFiles: ['nowhere'] })],
    ['identity.gafaelfawr.secretFiles.1', gafaelfawr({ secretFiles: ['secret', 'short'] })],
    ['identity.gafaelfawr.secretFiles.0', gafaelfawr({ secretFiles: ['spaced'] })],
    ['identity.gafaelfawr.secretFiles.0', gafaelfawr({ secretFiles: ['listed'] })],
    ['identity.gafaelfawr.secretFiles.0', gafaelfawr({ secretFiles: ['empty'] })],
    ['identity.gafaelfawr', { provider: 'gafaelfawr' }],
    ['identity.gafaelfawr.baseUrl', gafaelfawr({ baseUrl: 'http://gafaelfawr.svc:8080', secretFiles: ['secret'] })],
    ['identity.gafaelfawr.baseUrl', gafaelfawr({ baseUrl: 'https://me:hunter2@host', secretFiles: ['secret'] })],
    ['identity.gafaelfawr.baseUrl', gafaelfawr({ baseUrl: 'https://host/?hunter2', secretFiles: ['secret'] })],
    ['identity.gafaelfawr.baseUrl', gafaelfawr({ baseUrl: 'data.example.org', secretFiles: ['secret'] })],
    ['identity.gafaelfawr.cacheSeconds', gafaelfawr({ cacheSeconds: 3600, secretFiles: ['secret'] })],
    ['identity.gafaelfawr.secretFile', gafaelfawr({ secretFile: 'secret', secretFiles: ['secret'] })],
  ])('names %s alone', async (key, identity) => {
    const problems = await problemsOf(identity)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${key.replaceAll('.', '\\.')}: `))
    expect(problems[0]).not.toMatch(/hunter/)
  })
})

describe('oidc', () => {
  it('has its defaults, and takes an issuer on this machine in the clear', async () => {
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

describe('the page for operators', () => {
  it('has an example for each provider, which loads', async () => {
    await writeFile(join(folder, 'tokens.yaml'), 'tokens: []')
    await writeFile(join(folder, 'ingress-secret'), 'a'.repeat(64))
    const page = await readFile(new URL('../../docs/identity.md', import.meta.url), 'utf8')
    const examples = Array.from(page.matchAll(/```yaml\n(.*?)```/gs), match => parse(match[1]!).identity)
    expect(examples.map(({ provider }) => provider)).toEqual(['static', 'gafaelfawr', 'oidc'])
    for (const identity of examples) expect((await load(identity)).warnings).toEqual([])
  })
})
