/** The reference page agrees with the schema, and each of its examples is a valid configuration. */
import { generateKeyPairSync } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestAuthority } from '../../test/kit/tls/authority.ts'
import { loadSettings } from '../settings/load.ts'
import { configReference, type Example } from './reference.ts'
import { parseYaml } from './yaml.ts'

const folder = fileURLToPath(new URL('../../docs/examples/', import.meta.url))
const names = (await readdir(folder)).filter(name => name.endsWith('.yaml')).sort()
const examples: Example[] = await Promise.all(
  names.map(async name => ({ name, text: await readFile(join(folder, name), 'utf8') })),
)

describe('docs/configuration.md', () => {
  it('is up to date (npm run docs)', async () => {
    expect(await readFile(new URL('../../docs/configuration.md', import.meta.url), 'utf8')).toBe(
      configReference(examples),
    )
  })

  it('cannot be made while a key has no example', () => {
    const fewer = examples.filter(({ name }) => name !== 'redis.yaml')
    expect(() => configReference(fewer)).toThrow(
      /without an example in docs\/examples.*: redis\.url, redis\.passwordFile, redis\.usernameFile/,
    )
  })
})

describe('the example', () => {
  let place: string
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'skylab-examples-'))
    await cp(folder, place, { recursive: true })
    const key = (fill: number) => Buffer.alloc(32, fill).toString('base64')
    /** The files that the examples name. */
    const files = {
      'tokens.yaml': 'tokens: []\n',
      'redis-password': 'not-a-secret\n',
      'redis-username': 'skylab\n',
      'redis-ca.pem': getCACertificates('bundled')[0]!,
      'kubeconfig.yaml': '{}\n',
      'ingress-user-secret': 'not-a-secret-but-long-enough\n',
      'ingress-admin-secret': 'nor-is-this-but-long-enough\n',
      'ingress-lab-secret': 'a-third-one-long-enough-too\n',
      'sealing.key': key(1),
      'sealing-old.key': key(2),
      'registry-ca.pem': '-----BEGIN CERTIFICATE-----\n',
      'registry-credentials.json': '{"auths": {}}\n',
      'otlp-headers.yaml': 'Authorization: Bearer not-a-secret\n',
      'dispatch.token': 'not-a-secret-but-as-long-as-one-of-them\n',
      'dispatch-old.token': 'neither-is-this-but-as-long-as-one\n',
      'dispatch-management.token': 'nor-this-one-of-them\n',
      'arvados.token': 'not-a-token-of-arvados\n',
      'arvados-ca.pem': getCACertificates('bundled')[0]!,
      'dispatch.key': generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
        ...{ type: 'pkcs1', format: 'pem' },
      }),
    }
    const authority = new TestAuthority(place, 'clients')
    const { cert, key: privateKey } = authority.issue('api')
    Object.assign(files, { 'api.crt': cert, 'api.key': privateKey, 'clients-ca.pem': authority.ca })
    for (const [name, text] of Object.entries(files)) await writeFile(join(place, name), text)
  }, 60_000)
  afterAll(() => rm(place, { recursive: true }))

  it.each(examples)('$name loads without a warning', async ({ name, text }) => {
    const file = join(place, name)
    // A block alone lacks `identity`, which has no default.
    if (!/^identity:/m.test(text)) await writeFile(file, `${text}identity: {static: {file: tokens.yaml}}\n`)
    const { warnings } = await loadSettings(file, { SKYLAB_SEALING_KEY: Buffer.alloc(32).toString('base64') })
    // Warnings about a block that the example lacks, and about a folder of the node, which the page must show.
    const yaml = parseYaml(text)
    const blocks = 'value' in yaml ? Object.keys(yaml.value as object) : []
    const own = warnings.filter(warning => blocks.includes(warning.split(/[.:]/)[0]!))
    expect(own).toEqual(name === 'lab.yaml' ? [expect.stringMatching(/^lab\.volumes\.1\.hostPath: /)] : [])
  })
})
