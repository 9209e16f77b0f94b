/** The client of registries with a real registry: passwords, tokens that the registry checks, and TLS of a private authority. */
import { X509Certificate } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importPKCS8, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { writeLayout } from '../../dev/image/layout.ts'
import { pushLayout } from '../../dev/image/push.ts'
import { waitUntil } from '../../dev/process/api-client.ts'
import { systemClock } from '../../src/base/clock.ts'
import { configSchema } from '../../src/config/schema.ts'
import { createImageSource, type ImageSourceParts } from '../../src/images/registry/create.ts'
import {
  hasDockerRegistry,
  type RegistrySettings,
  startDockerRegistry,
  withPassword,
} from '../kit/images/docker-registry.ts'
import { json, LocalServer } from '../kit/images/server.ts'
import { dockerConfig, passwordOf } from '../kit/images/source.ts'
import { makeCertificate } from '../kit/kube/server.ts'

const repository = 'team/lab'
const tags = Array.from({ length: 30 }, (_, index) => `w_2026_${String(index + 1).padStart(2, '0')}`)

let work: string
let digest: string
const closing: (() => Promise<unknown>)[] = []
const atEnd: (() => Promise<unknown>)[] = []
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'skylab-registry-test-'))
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
afterAll(async () => {
  for (const close of atEnd.reverse()) await close()
  rmSync(work, { recursive: true, force: true })
})

/** A registry with the image under all tags; `settings` configure later requests. */
async function filled(settings?: RegistrySettings, host?: string) {
  const storage = join(work, 'storage')
  const open = await startDockerRegistry(() => ({ storage: { filesystem: { rootdirectory: storage } } }))
  try {
    mkdirSync(join(work, 'rootfs'), { recursive: true })
    writeFileSync(join(work, 'rootfs', 'README'), 'nothing but this\n')
    const layout = join(work, 'layout')
    const manifest = await writeLayout({ rootfs: join(work, 'rootfs'), out: layout, name: 'lab', config: {} })
    digest = await pushLayout({ layout, registry: open.address, repository, tags })
    expect(digest).toBe(manifest.digest)
  } finally {
    await open.stop()
  }
  const all: RegistrySettings = file => ({ storage: { filesystem: { rootdirectory: storage } }, ...settings?.(file) })
  const registry = await startDockerRegistry(all, host)
  atEnd.push(registry.stop)
  return registry.address
}

function sourceOf(registry: string, parts: Partial<ImageSourceParts> = {}) {
  const { images } = configSchema.parse({ images: { registry, docker: { repository }, timeoutSeconds: 20 } })
  const source = createImageSource({ images, clock: systemClock, ...parts })
  closing.push(() => source.close())
  return source
}

async function expectWhole(source: ReturnType<typeof sourceOf>): Promise<void> {
  const listed = await source.listTags()
  expect(listed.map(({ tag }) => tag).sort()).toEqual(tags)
  expect(await source.manifestOf(tags[0]!)).toEqual({ digest })
  expect(await source.manifestOf(digest)).toEqual({ digest })
  expect(await source.manifestOf('w_2026_99')).toBeNull()
}

describe.skipIf(!hasDockerRegistry)('the client of registries', () => {
  test('reads a registry without authentication', async () => {
    await expectWhole(sourceOf(await filled()))
  })

  test('reports that a repository does not exist', async () => {
    const registry = await startDockerRegistry()
    closing.push(registry.stop)
    await expect(sourceOf(registry.address).listTags()).rejects.toThrow('answered 404: no such repository')
    expect(await sourceOf(registry.address).manifestOf('w_2026_01')).toBeNull()
  })

  test('sends a password when the registry asks for one', async () => {
    const address = await filled(withPassword)
    const right = dockerConfig(address, passwordOf('ada', 'secret-of-ada'))
    await expectWhole(sourceOf(address, { credentials: async () => right }))
    const wrong = dockerConfig(address, passwordOf('ada', 'secret-of-eve'))
    const refused = sourceOf(address, { credentials: async () => wrong }).listTags()
    await expect(refused).rejects.toThrow(`${address} answered 401 to the credentials that it asked for`)
    await expect(sourceOf(address).listTags()).rejects.toThrow(`${address} asks for credentials, and there are none`)
  })

  test('renews tokens when the registry ends them early', async () => {
    const pki = makeCertificate(work, 'tokens')
    const key = await importPKCS8(pki.key, 'ES256')
    const chain = [new X509Certificate(pki.cert).raw.toString('base64')]
    let lastsSeconds = 300
    const service = await LocalServer.start((asked, response) => {
      const now = Math.floor(Date.now() / 1000)
      const scope = new URL(asked.path, 'http://service').searchParams.get('scope') ?? ''
      const [type, name, actions = ''] = scope.split(':')
      void new SignJWT({ access: [{ type, name, actions: actions.split(',') }] })
        .setProtectedHeader({ alg: 'ES256', typ: 'JWT', x5c: chain })
        .setIssuer('box')
        .setAudience('box registry')
        .setSubject('ada')
        .setJti(String(asked.path.length + now))
        .setIssuedAt(now - 120)
        .setNotBefore(now - 120)
        .setExpirationTime(now + lastsSeconds)
        .sign(key)
        .then(token => json({ token, expires_in: 3600 })(asked, response))
    })
    closing.push(() => service.stop())
    const address = await filled(file => ({
      auth: {
        token: {
          realm: `${service.url}/token`,
          service: 'box registry',
          issuer: 'box',
          rootcertbundle: file('root.pem', pki.ca),
        },
      },
    }))
    const source = sourceOf(address, {
      credentials: async () => dockerConfig(address, passwordOf('ada', 'secret-of-ada')),
    })
    // The registry accepts tokens for a minute longer than they say: this one is valid for two seconds.
    lastsSeconds = -58
    await source.listTags()
    lastsSeconds = 300
    await waitUntil(async () => (await source.listTags()).length > 0 && service.asked.length === 2, {
      what: 'another token',
      limitMs: 30_000,
    })
    await expectWhole(source)
    expect(service.asked.length).toBe(2)
    expect(service.lines[0]).toBe('GET /token?service=box+registry&scope=repository%3Ateam%2Flab%3Apull')
    expect(service.shown[0]).toMatch(/^Basic /)
  })

  test('trusts TLS of a configured authority', async () => {
    // An address of this machine other than loopback, where registries are used without TLS.
    const host = '0.0.0.0'
    const { ca, cert, key } = makeCertificate(work, 'tls', host)
    const address = await filled(
      file => ({ http: { tls: { certificate: file('tls.crt', cert), key: file('tls.key', key) } } }),
      host,
    )
    await expectWhole(sourceOf(address, { authorities: ca }))
    await expect(sourceOf(address).listTags()).rejects.toThrow(new RegExp(`^${address}: .*certificate`))
  })
})
