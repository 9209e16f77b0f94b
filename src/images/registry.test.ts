import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { ApiError } from '../errors.ts'
import { createImageSource } from './create.ts'
import { ImageResolver } from './registry.ts'
import { HastyClock } from './testing/clock.ts'
import { imagesOf } from './testing/source.ts'

const digestA = `sha256:${'a'.repeat(64)}`
const digestB = `sha256:${'b'.repeat(64)}`

type Step = (request: IncomingMessage, response: ServerResponse) => void

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A registry that follows a script, one step a request, and resolvers of it. */
async function registryOf(...script: Step[]) {
  const asked: string[] = []
  const listener: RequestListener = (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const step = script.shift()
    if (step) step(request, response)
    else response.writeHead(599).end()
  }
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const registry = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = new HastyClock()
  const warned: string[] = []
  const log = { warn: (fields: object) => warned.push(String((fields as { err: unknown }).err)) }
  const images = imagesOf({ registry, docker: { repository: 'some/lab' } })
  const source = createImageSource({ images, clock })
  closing.push(() => source.close())
  return { resolver: new ImageResolver({ images, source, clock, log }), registry, clock, asked, warned, script, server }
}

const digest =
  (value: string): Step =>
  (_, response) =>
    response.writeHead(200, { 'Docker-Content-Digest': value }).end()
const status =
  (code: number, headers: Record<string, string> = {}): Step =>
  (_, response) =>
    response.writeHead(code, headers).end()
const resetting: Step = request => request.socket.resetAndDestroy()

it('resolves a tag to a digest, and describes the image', async () => {
  let accepted = ''
  const { resolver, registry, asked, clock } = await registryOf((request, response) => {
    accepted = request.headers.accept ?? ''
    digest(digestA)(request, response)
  })
  expect(await resolver.resolve({ image_tag: 'w_2022_37' })).toEqual({
    reference: `${registry}/some/lab:w_2022_37@${digestA}`,
    tag: 'w_2022_37',
    digest: digestA,
    description: 'Weekly 2022_37',
  })
  expect(asked).toEqual(['HEAD /v2/some/lab/manifests/w_2022_37'])
  expect(accepted).toContain('application/vnd.oci.image.index.v1+json')
  expect(accepted).toContain('application/vnd.docker.distribution.manifest.v2+json')
  expect(clock.sleeping).toBe(0)
})

it('resolves the recommended image', async () => {
  const { resolver } = await registryOf(digest(digestA))
  expect(await resolver.resolve({ image_type: 'recommended' })).toMatchObject({
    tag: 'recommended',
    description: 'Recommended',
  })
})

it('keeps to a digest that was asked for', async () => {
  const { resolver, registry, asked } = await registryOf(digest(digestB), resetting)
  expect(await resolver.resolve({ image_list: `some/lab:w_1@${digestA}` })).toMatchObject({
    reference: `${registry}/some/lab:w_1@${digestA}`,
    digest: digestA,
  })
  expect(asked).toEqual([`HEAD /v2/some/lab/manifests/${digestA}`])
  expect(await resolver.resolve({ image_list: `some/lab@${digestB}` })).toEqual({
    reference: `${registry}/some/lab@${digestB}`,
    tag: '',
    digest: digestB,
    description: `Image ${digestB}`,
  })
})

it('asks once for all who ask within seconds, and again later', async () => {
  const { resolver, asked, clock, script } = await registryOf(digest(digestA))
  const together = await Promise.all([1, 2, 3].map(() => resolver.resolve({ image_tag: 'a' })))
  expect(new Set(together.map(image => image.digest))).toEqual(new Set([digestA]))
  clock.pass(4999)
  await resolver.resolve({ image_tag: 'a' })
  expect(asked.length).toBe(1)
  script.push(digest(digestB))
  clock.pass(1)
  expect((await resolver.resolve({ image_tag: 'a' })).digest).toBe(digestB)
  expect(asked.length).toBe(2)
})

it('gives up for one caller without spoiling it for the others', async () => {
  const held = Promise.withResolvers<ServerResponse>()
  const { resolver, asked } = await registryOf((_, response) => held.resolve(response))
  const caller = new AbortController()
  const leaving = resolver.resolve({ image_tag: 'a' }, caller.signal)
  const staying = resolver.resolve({ image_tag: 'a' })
  const response = await held.promise
  caller.abort(new Error('gone'))
  await expect(leaving).rejects.toThrow('gone')
  response.writeHead(200, { 'Docker-Content-Digest': digestA }).end()
  expect((await staying).digest).toBe(digestA)
  expect(asked.length).toBe(1)
})

it.each([
  [{ image_tag: 'a' }, 'image_tag', 'There is no image a in some/lab'],
  [{ image_type: 'recommended' }, 'image_type', 'There is no image recommended in some/lab'],
  [{ image_list: `some/lab@${digestA}` }, 'image_list', `There is no image ${digestA} in some/lab`],
])('refuses what the registry does not have: %j', async (options, option, msg) => {
  const { resolver, warned } = await registryOf(status(404))
  const refused = await resolver.resolve(options).catch(error => error)
  expect(refused).toBeInstanceOf(ApiError)
  expect(refused.status).toBe(422)
  expect(refused.detail).toEqual([{ msg, type: 'invalid', loc: ['body', 'options', option] }])
  expect(warned).toEqual([])
})

it('asks again for what was missing, and forgets the digest of what is gone', async () => {
  const { resolver, clock, script } = await registryOf(status(404), digest(digestA), status(404), status(403))
  const failed = await resolver.resolve({ image_tag: 'a' }).catch(error => error)
  expect(failed.status).toBe(422)
  expect((await resolver.resolve({ image_tag: 'a' })).digest).toBe(digestA)
  clock.pass(5000)
  expect((await resolver.resolve({ image_tag: 'a' }).catch(error => error)).status).toBe(422)
  expect((await resolver.resolve({ image_tag: 'a' })).digest).toBeNull()
  expect(script).toEqual([])
})

it.each<[string, Step[], string]>([
  ['errors', [status(500), status(500), status(500)], 'answered 500'],
  ['a refusal', [status(403)], 'answered 403'],
  ['rate limiting', [status(429, { 'Retry-After': '60' })], 'answered 429'],
  ['broken connections', [resetting, resetting, resetting], '127.0.0.1:'],
  ['a demand for credentials', [status(401, { 'WWW-Authenticate': 'Basic realm="x"' })], 'asks for credentials'],
])('goes on with the last known digest after %s', async (_, failing, words) => {
  const { resolver, registry, clock, warned, asked } = await registryOf(digest(digestA), ...failing, digest(digestB))
  await resolver.resolve({ image_tag: 'a' })
  clock.pass(5000)
  expect((await resolver.resolve({ image_tag: 'a' })).reference).toBe(`${registry}/some/lab:a@${digestA}`)
  expect(warned).toEqual([expect.stringContaining(words)])
  await resolver.resolve({ image_tag: 'a' })
  expect(asked.length).toBe(1 + failing.length)
  clock.pass(5000)
  expect((await resolver.resolve({ image_tag: 'a' })).digest).toBe(digestB)
})

it('goes on without a digest when none was ever told', async () => {
  const { resolver, registry, server } = await registryOf()
  const closed = once(server, 'close')
  server.close()
  await closed
  expect(await resolver.resolve({ image_tag: 'a' })).toEqual({
    reference: `${registry}/some/lab:a`,
    tag: 'a',
    digest: null,
    description: 'a',
  })
})

it.each<[string, Step]>([
  ['the answer', () => {}],
  ['the rest of the answer', (_, response) => response.writeHead(200).flushHeaders()],
])('does not wait for %s longer than configured', async (_, hang) => {
  const reached = Promise.withResolvers<void>()
  const { resolver, clock, warned } = await registryOf(status(405), (request, response) => {
    hang(request, response)
    reached.resolve()
  })
  const resolving = resolver.resolve({ image_tag: 'a' })
  await reached.promise
  clock.pass(5000)
  expect((await resolving).digest).toBeNull()
  expect(warned).toEqual([expect.stringContaining('no answer within 5000 ms')])
})

it.each([
  ['has no HEAD', status(405)],
  ['tells no digest to HEAD', status(200)],
  ['tells nonsense to HEAD', digest('latest')],
])('reads the manifest where the registry %s', async (_, head) => {
  const manifest = '{"schemaVersion":2}'
  const { resolver, asked } = await registryOf(head, (_request, response) => response.end(manifest))
  const expected = `sha256:${createHash('sha256').update(manifest).digest('hex')}`
  expect((await resolver.resolve({ image_tag: 'a' })).digest).toBe(expected)
  expect(asked[1]).toBe('GET /v2/some/lab/manifests/a')
})

it('does not read an endless manifest', async () => {
  const { resolver, warned } = await registryOf(status(405), (_, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(65_536)));
    }
    response.on('drain', more)
    more()
  })
  expect((await resolver.resolve({ image_tag: 'a' })).digest).toBeNull()
  expect(warned).toEqual([expect.stringContaining('larger than')])
})

it('gets the token that anyone gets', async () => {
  let registry = ''
  let shown: string | undefined
  const parts = await registryOf(
    (_, response) => {
      const challenge = `Bearer realm="http://${registry}/token?a=b",service="some service",scope="repository:some/lab:pull"`
      response.writeHead(401, { 'WWW-Authenticate': challenge }).end()
    },
    (_, response) => response.end('{"token":"anonymous"}'),
    (request, response) => {
      shown = request.headers.authorization
      digest(digestA)(request, response)
    },
  )
  registry = parts.registry
  expect((await parts.resolver.resolve({ image_tag: 'a' })).digest).toBe(digestA)
  expect(parts.asked[1]).toBe('GET /token?a=b&service=some+service&scope=repository%3Asome%2Flab%3Apull')
  expect(shown).toBe('Bearer anonymous')
})

it.each([
  ['in the clear', 'Bearer realm="http://auth.example.org/token"', 'not trusted'],
  ['nowhere', 'Bearer service="x"', 'asks for credentials'],
])('is not sent %s for a token', async (_, challenge, words) => {
  const { resolver, warned, asked } = await registryOf(status(401, { 'WWW-Authenticate': challenge }))
  expect((await resolver.resolve({ image_tag: 'a' })).digest).toBeNull()
  expect(warned).toEqual([expect.stringContaining(words)])
  expect(asked.length).toBe(1)
})

it.each([
  ['a refusal', status(403), 'gave no token but 403'],
  ['something else', (_: IncomingMessage, response: ServerResponse) => response.end('{}'), 'gave no token'],
])('does without a digest when it gets %s for a token', async (_, answer, words) => {
  let registry = ''
  const parts = await registryOf((_request, response) => {
    response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${registry}/token"` }).end()
  }, answer)
  registry = parts.registry
  expect((await parts.resolver.resolve({ image_tag: 'a' })).digest).toBeNull()
  expect(parts.warned).toEqual([expect.stringContaining(words)])
})

it('remembers a bounded number of tags', async () => {
  const parts = await registryOf()
  parts.script.push(...Array.from({ length: 501 }, () => digest(digestA)), status(403), status(403))
  for (let number = 0; number < 501; number += 1) await parts.resolver.resolve({ image_tag: `t${number}` })
  parts.clock.pass(5000)
  expect((await parts.resolver.resolve({ image_tag: 't0' })).digest).toBeNull()
  expect((await parts.resolver.resolve({ image_tag: 't500' })).digest).toBe(digestA)
})
