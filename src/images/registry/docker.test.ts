import { createHash } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { faults, json, LocalServer, type Respond, status } from '../../../test/kit/images/server.ts'
import { registryAndSource } from '../../../test/kit/images/source.ts'
import { originOf } from './docker.ts'

const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`
const tagsOf = (count: number) => Array.from({ length: count }, (_, index) => `t_${index}`)
const names = (listed: readonly { readonly tag: string }[]) => listed.map(({ tag }) => tag)

it.each<[string, boolean, string]>([
  ['r.example.org', false, 'https://r.example.org'],
  ['r.example.org:5000', true, 'http://r.example.org:5000'],
  ['127.0.0.1:5000', false, 'http://127.0.0.1:5000'],
  ['[::1]:5000', false, 'http://[::1]:5000'],
  ['localhost', false, 'http://localhost'],
  ['registry.hub.docker.com', false, 'https://registry.hub.docker.com'],
  ['docker.io', false, 'https://registry-1.docker.io'],
])('originOf %s (in plain HTTP: %s) is %s', (registry, plainHttp, origin) => {
  expect(originOf(registry, plainHttp).origin).toBe(origin)
})

describe('DockerRegistry.listTags', () => {
  it('reads one page', async () => {
    const { registry, server, source } = await registryAndSource()
    registry.tags = ['a', 'b']
    expect(await source.listTags()).toEqual([{ tag: 'a' }, { tag: 'b' }])
    expect(server.lines).toEqual(['GET /v2/some/lab/tags/list?n=1000'])
  })

  it.each(['relative', 'absolute'] as const)('follows %s links to further pages', async links => {
    const { registry, server, source } = await registryAndSource()
    Object.assign(registry, { links, pageSize: 2, tags: tagsOf(5) })
    expect(names(await source.listTags())).toEqual(tagsOf(5))
    expect(server.lines[1]).toBe('GET /v2/some/lab/tags/list?n=2&last=t_1')
    expect(server.lines.length).toBe(3)
  })

  it('reads 20,000 tags on twenty pages, or on one if a registry has no pages', async () => {
    const { registry, server, source } = await registryAndSource()
    registry.tags = tagsOf(20_000)
    expect(names(await source.listTags())).toEqual(tagsOf(20_000))
    expect(server.asked.length).toBe(20)
    server.faults.push(json({ tags: tagsOf(20_000) }))
    expect(names(await source.listTags())).toEqual(tagsOf(20_000))
  })

  it('fails when there are more tags than allowed', async () => {
    const { registry, source, host } = await registryAndSource({ images: { maxTags: 4 } })
    Object.assign(registry, { pageSize: 2, tags: tagsOf(4) })
    expect((await source.listTags()).length).toBe(4)
    registry.tags = tagsOf(5)
    await expect(source.listTags()).rejects.toThrow(`there are more than 4 tags of ${host}/some/lab (images.maxTags)`)
  })

  it('returns each valid tag once', async () => {
    const { server, source } = await registryAndSource()
    server.faults.push(json({ tags: ['a', 'a', '', '../x', 'b c', 'b'] }))
    expect(names(await source.listTags())).toEqual(['a', 'b'])
  })

  it.each([{ tags: null }, { tags: [] }, {}])('returns nothing for %j', async answer => {
    const { server, source } = await registryAndSource()
    server.faults.push(json(answer))
    expect(await source.listTags()).toEqual([])
  })

  it('fails when pages form a circle', async () => {
    const { server, source } = await registryAndSource()
    const page = (next: number): Respond =>
      json({ tags: ['a'] }, { Link: `</v2/some/lab/tags/list?p=${next}>; rel="next"` })
    server.faults.push(page(1), page(2), page(1))
    await expect(source.listTags()).rejects.toThrow('lead round in a circle')
    expect(server.asked.length).toBe(3)
  })

  it.each([
    'https://registry.example.org/v2/some/lab/tags/list?last=a',
    '//registry.example.org/v2/some/lab/tags/list?last=a',
    'http://127.0.0.1:1/v2/some/lab/tags/list?last=a',
    'http://:0:0',
  ])('does not follow a link to %s', async next => {
    const { server, source, host } = await registryAndSource()
    server.faults.push(json({ tags: ['a'] }, { Link: `<${next}>; rel="next"` }))
    await expect(source.listTags()).rejects.toThrow(`${host} has the next page of its tags on another host`)
    expect(server.asked.length).toBe(1)
  })

  it('keeps the configured scheme, whatever scheme a link has', async () => {
    const { registry, server, source, host } = await registryAndSource()
    registry.tags = ['b']
    const next = `https://${host}/v2/some/lab/tags/list?n=1`
    server.faults.push(json({ tags: ['a'] }, { Link: `<${next}>; rel="next"` }))
    expect(names(await source.listTags())).toEqual(['a', 'b'])
  })

  it.each<[string, Respond, string]>([
    ['401', status(401), 'asks for credentials in a way that is not known here'],
    ['403', status(403), 'answered 403'],
    ['404', status(404), 'answered 404: no such repository'],
    ['garbage', faults['no JSON'], 'is not JSON'],
    ['another list', json({ tags: { a: 1 } }), 'is malformed at tags'],
    ['tags that are none', json({ tags: ['a', 1] }), 'is malformed at tags.1'],
    ['no object', json('secret-of-ada'), 'is malformed at the whole'],
  ])('fails with a reason when the registry answers %s', async (_, fault, words) => {
    const { server, source, host } = await registryAndSource()
    server.faults.push(fault)
    const error: Error = await source.listTags().catch(error => error)
    expect(error.message).toContain(host)
    expect(error.message).toContain(words)
    expect(error.message).not.toContain('secret')
    expect(server.asked.length).toBe(1)
  })

  it.each<[string, Respond, string]>([
    ['429', status(429), 'answered 429'],
    ['500', status(500), 'answered 500'],
    ['half of the list', faults['cut off'], ''],
  ])('fails with a reason when the registry always answers %s', async (_, fault, words) => {
    const { server, source, host } = await registryAndSource()
    server.faults.push(fault, fault, fault)
    const error: Error = await source.listTags().catch(error => error)
    expect(error.message).toContain(`${host}${words && ' '}${words}`)
    expect(server.asked.length).toBe(3)
  })

  it('waits no longer than configured', async () => {
    const { server, source, clock, host } = await registryAndSource()
    server.faults.push(faults['half an answer'])
    const listing = source.listTags()
    await server.whenAsked(1)
    clock.advance(5000)
    await expect(listing).rejects.toThrow(new RegExp(`^${host}: .*no answer within 5000 ms`))
  })

  it('stops reading an endless page', async () => {
    const { server, source } = await registryAndSource()
    server.faults.push(faults.huge)
    await expect(source.listTags()).rejects.toThrow('larger than 16777216 bytes')
  })

  it('ends when its caller aborts it', async () => {
    const { registry, server, source } = await registryAndSource()
    Object.assign(registry, { pageSize: 1, tags: tagsOf(5) })
    const caller = new AbortController()
    server.faults.push((_, response) => {
      caller.abort(new Error('gone'))
      response.end('{}')
    })
    await expect(source.listTags(caller.signal)).rejects.toThrow('gone')
    expect(server.asked.length).toBe(1)
  })
})

describe('DockerRegistry.manifestOf', () => {
  it('sends HEAD requests', async () => {
    const { registry, server, source } = await registryAndSource()
    const digest = registry.push('a', 10)
    expect(await source.manifestOf('a')).toEqual({ digest })
    expect(await source.manifestOf(digest)).toEqual({ digest })
    expect(server.lines).toEqual(['HEAD /v2/some/lab/manifests/a', `HEAD /v2/some/lab/manifests/${digest}`])
    expect(server.asked[0]!.headers.accept).toContain('application/vnd.oci.image.index.v1+json')
    expect(server.asked[0]!.headers.accept).toContain('application/vnd.docker.distribution.manifest.v2+json')
  })

  it.each<[string, Respond]>([
    ['has no HEAD', status(405)],
    ['does not know it', status(501)],
    ['returns no digest', status(200)],
    ['returns nonsense', status(200, { 'Docker-Content-Digest': 'latest' })],
  ])('reads the manifest, with its size, when the registry %s', async (_, head) => {
    const { registry, server, source } = await registryAndSource()
    const digest = registry.push('a', 10, 20)
    server.faults.push(head)
    expect(await source.manifestOf('a')).toEqual({ digest, sizeBytes: 31 })
    expect(server.lines[1]).toBe('GET /v2/some/lab/manifests/a')
  })

  it('returns no size for an index', async () => {
    const { registry, server, source } = await registryAndSource()
    const digest = registry.pushIndex('a')
    expect(await source.manifestOf('a')).toEqual({ digest })
    server.faults.push(status(405))
    expect(await source.manifestOf('a')).toEqual({ digest })
  })

  it('computes the digest when the registry returns none', async () => {
    const { server, source } = await registryAndSource()
    server.faults.push(status(405), (_, response) => response.end('{"config":1}'))
    expect(await source.manifestOf('a')).toEqual({ digest: sha256('{"config":1}') })
  })

  it('fails when the manifest does not have its digest', async () => {
    const { server, source } = await registryAndSource()
    server.faults.push(status(405), json({}, { 'Docker-Content-Digest': sha256('other') }))
    await expect(source.manifestOf('a')).rejects.toThrow('gave a manifest that is not what its digest says')
  })

  it('returns null for a missing image', async () => {
    const { server, source } = await registryAndSource()
    expect(await source.manifestOf('a')).toBeNull()
    server.faults.push(status(405))
    expect(await source.manifestOf('a')).toBeNull()
  })

  it.each<[string, Respond, string]>([
    ['403', status(403), 'answered 403'],
    ['400', status(400), 'answered 400'],
  ])('fails when the registry answers %s', async (_, fault, words) => {
    const { server, source, host } = await registryAndSource()
    server.faults.push(fault)
    await expect(source.manifestOf('a')).rejects.toThrow(`${host} ${words}`)
  })

  it('reads up to four mebibytes', async () => {
    const { server, source } = await registryAndSource()
    server.faults.push(status(405), faults.huge)
    await expect(source.manifestOf('a')).rejects.toThrow('larger than 4194304 bytes')
  })

  it.each(['', '../x', 'a/b', 'sha256:0', 'a?b'])('fails for the invalid reference %j', async reference => {
    const { server, source } = await registryAndSource()
    await expect(source.manifestOf(reference)).rejects.toThrow('neither a tag nor a digest')
    expect(server.asked).toEqual([])
  })

  it('follows a redirect to another host without credentials', async () => {
    const { registry, server, source } = await registryAndSource()
    const digest = registry.push('a')
    const other = await LocalServer.start(status(200, { 'Docker-Content-Digest': digest }))
    onTestFinished(() => other.stop())
    server.faults.push(status(307, { Location: `${other.url}/there` }))
    expect(await source.manifestOf('a')).toEqual({ digest })
    expect(other.lines).toEqual(['HEAD /there'])
    other.faults.push(status(401, { 'WWW-Authenticate': 'Basic realm="other"' }))
    server.faults.push(status(307, { Location: `${other.url}/there` }))
    await expect(source.manifestOf('a')).rejects.toThrow(`${other.host} answered 401`)
  })
})
