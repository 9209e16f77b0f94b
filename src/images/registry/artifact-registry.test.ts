import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { hastyClock } from '../../../test/kit/clock.ts'
import { FakeGoogle, type GoogleImage } from '../../../test/kit/images/google.ts'
import { faults, json, type Respond, status } from '../../../test/kit/images/server.ts'
import { imagesOf } from '../../../test/kit/images/source.ts'
import { createImageSource } from './create.ts'
import type { ReadCredentials } from './credential-cache.ts'

let google: FakeGoogle
beforeAll(async () => {
  google = await FakeGoogle.start()
})
afterAll(() => google.server.stop())

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  vi.unstubAllEnvs()
  google.server.asked.length = 0
  google.server.faults.length = 0
  Object.assign(google, { images: [], pageSize: 1000, seconds: 3600 })
  google.tokens.clear()
  google.claims.length = 0
})

function sourceOf({ images = {}, credentials = async () => google.key() }: Parts = {}) {
  const clock = hastyClock()
  const block = imagesOf({ registry: 'us-central1-docker.pkg.dev', gar: google.gar(), ...images })
  const source = createImageSource({ images: block, clock, credentials })
  closing.push(() => source.close())
  return { source, clock }
}

interface Parts {
  readonly images?: object
  readonly credentials?: ReadCredentials
}

const digestOf = (number: number) => `sha256:${number.toString(16).padStart(64, '0')}`

function image(number: number, tags?: readonly string[], change: Partial<GoogleImage> = {}): GoogleImage {
  const uri = `us-central1-docker.pkg.dev/some-project/sciplat/sciplat-lab@${digestOf(number)}`
  const size = { imageSizeBytes: String(number * 1000), mediaType: 'application/vnd.oci.image.manifest.v1+json' }
  return { uri, ...(tags && { tags }), ...size, ...change }
}

const token = () => [...google.tokens][0]

describe('ArtifactRegistry.listTags', () => {
  it('returns tags with digests and sizes', async () => {
    google.images = [image(1, ['w_1', 'recommended']), image(2, ['w_2']), image(3), image(4, [])]
    const { source } = sourceOf()
    expect(await source.listTags()).toEqual([
      { tag: 'w_1', digest: digestOf(1), sizeBytes: 1000 },
      { tag: 'recommended', digest: digestOf(1), sizeBytes: 1000 },
      { tag: 'w_2', digest: digestOf(2), sizeBytes: 2000 },
    ])
    const fields = encodeURIComponent('nextPageToken,dockerImages(uri,tags,imageSizeBytes,mediaType)').replace(
      /[()]/g,
      each => `%${each.charCodeAt(0).toString(16)}`,
    )
    expect(google.questions).toEqual([`GET ${google.root}/dockerImages?pageSize=1000&fields=${fields}`])
    expect(google.server.asked.at(-1)!.headers.authorization).toBe(`Bearer ${token()}`)
  })

  it('returns tags of the configured image only', async () => {
    const other = (path: string) => ({ uri: `us-central1-docker.pkg.dev/${path}@${digestOf(9)}` })
    google.images = [
      image(1, ['a']),
      image(2, ['b'], other('some-project/sciplat/sciplat-lab-nightly')),
      image(3, ['c'], other('some-project/sciplat/more/sciplat-lab')),
      image(4, ['d'], other('another-project/sciplat/sciplat-lab')),
      image(5, ['e'], { uri: 'us-central1-docker.pkg.dev/some-project/sciplat/sciplat-lab' }),
    ]
    expect((await sourceOf().source.listTags()).map(({ tag }) => tag)).toEqual(['a'])
  })

  it('returns no size for an index, or when the API has none', async () => {
    google.images = [
      image(1, ['a'], { mediaType: 'application/vnd.oci.image.index.v1+json' }),
      image(2, ['b'], { mediaType: 'application/vnd.docker.distribution.manifest.list.v2+json' }),
      { uri: image(3).uri, tags: ['c'] },
    ]
    for (const listed of await sourceOf().source.listTags()) expect(Object.keys(listed)).toEqual(['tag', 'digest'])
  })

  it('reads all pages', async () => {
    google.images = Array.from({ length: 2500 }, (_, number) => image(number, [`t_${number}`]))
    const { source } = sourceOf()
    expect((await source.listTags()).length).toBe(2500)
    expect(google.questions.map(line => new URL(line.slice(4), 'http://x').searchParams.get('pageToken'))).toEqual([
      null,
      '1000',
      '2000',
    ])
  })

  it('fails when there are more tags than allowed', async () => {
    google.images = [image(1, ['a', 'b']), image(2, ['c'])]
    const { source } = sourceOf({ images: { maxTags: 2 } })
    await expect(source.listTags()).rejects.toThrow('more than 2 tags of some-project/sciplat/sciplat-lab')
  })

  it('fails when pages form a circle', async () => {
    const { source } = sourceOf()
    await source.listTags()
    google.server.faults.push(json({ nextPageToken: 'x' }), json({ nextPageToken: 'x' }))
    await expect(source.listTags()).rejects.toThrow('lead round in a circle')
  })

  it.each<[string, Respond, string]>([
    ['403', status(403), 'answered 403'],
    ['404', status(404), 'answered 404'],
    ['a redirect', status(302, { Location: 'https://r.example.org' }), 'answered 302'],
    ['garbage', faults['no JSON'], 'is not JSON'],
    ['another list', json({ dockerImages: [{ uri: 1 }] }), 'is malformed at dockerImages.0.uri'],
    [
      'a size that is none',
      json({ dockerImages: [image(1, [], { imageSizeBytes: 'x' })] }),
      'dockerImages.0.imageSizeBytes',
    ],
  ])('fails with a reason when the API answers %s', async (_, fault, words) => {
    const { source } = sourceOf()
    await source.listTags()
    google.server.faults.push(fault)
    const error: Error = await source.listTags().catch(error => error)
    expect(error.message).toContain(google.server.host)
    expect(error.message).toContain(words)
  })

  it('tries again after 429 and 500', async () => {
    google.images = [image(1, ['a'])]
    const { source, clock } = sourceOf()
    await source.listTags()
    google.server.faults.push(status(429, { 'Retry-After': '2' }), status(500))
    expect((await source.listTags()).length).toBe(1)
    expect(clock.waits[0]).toBeGreaterThanOrEqual(2000)
  })

  it('waits no longer than configured', async () => {
    const { source, clock } = sourceOf()
    await source.listTags()
    const asked = google.server.asked.length
    google.server.faults.push(faults.never)
    const listing = source.listTags()
    await google.server.whenAsked(asked + 1)
    clock.advance(5000)
    await expect(listing).rejects.toThrow('no answer within 5000 ms')
  })
})

describe('ArtifactRegistry.manifestOf', () => {
  it('finds an image by tag', async () => {
    google.images = [image(1, ['a']), image(2, ['w_1', 'b'])]
    const { source } = sourceOf()
    expect(await source.manifestOf('b')).toEqual({ digest: digestOf(2) })
    expect(google.questions).toEqual([`GET ${google.root}/packages/sciplat-lab/tags/b`])
    expect(await source.manifestOf('c')).toBeNull()
  })

  it('finds an image by digest, with its size', async () => {
    google.images = [image(1, ['a'])]
    const { source } = sourceOf()
    expect(await source.manifestOf(digestOf(1))).toEqual({ digest: digestOf(1), sizeBytes: 1000 })
    expect(google.questions).toEqual([`GET ${google.root}/dockerImages/sciplat-lab@${digestOf(1)}`])
    expect(await source.manifestOf(digestOf(2))).toBeNull()
  })

  it('accepts a name of several parts', async () => {
    const uri = `us-central1-docker.pkg.dev/some-project/sciplat/team/lab@${digestOf(1)}`
    google.images = [image(1, ['a'], { uri })]
    const { source } = sourceOf({ images: { gar: google.gar('team/lab') } })
    expect(await source.manifestOf('a')).toEqual({ digest: digestOf(1) })
    expect(await source.manifestOf(digestOf(1))).toMatchObject({ digest: digestOf(1) })
    expect((await source.listTags()).length).toBe(1)
    expect(google.questions[0]).toBe(`GET ${google.root}/packages/team%2Flab/tags/a`)
  })

  it.each<[string, Respond, string]>([
    ['403', status(403), 'answered 403'],
    ['nothing', json({}), 'is malformed at version'],
    ['no digest', json({ version: 'a/b/c' }), 'is malformed at version'],
  ])('fails when the API answers %s', async (_, fault, words) => {
    const { source } = sourceOf()
    await source.listTags()
    google.server.faults.push(fault)
    await expect(source.manifestOf('a')).rejects.toThrow(words)
  })

  it('fails when the reference is neither tag nor digest', async () => {
    await expect(sourceOf().source.manifestOf('../x')).rejects.toThrow('neither a tag nor a digest')
    expect(google.server.asked).toEqual([])
  })
})

describe('ArtifactRegistry’s credentials', () => {
  it('are a service account that signs, with the right to read', async () => {
    const { source } = sourceOf()
    await source.listTags()
    await source.listTags()
    expect(google.claims).toEqual([
      expect.objectContaining({
        iss: 'reader@some-project.iam.gserviceaccount.com',
        scope: 'https://www.googleapis.com/auth/cloud-platform.read-only',
      }),
    ])
  })

  it('are found by Google’s library when none are configured', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skylab-google-'))
    closing.push(async () => rmSync(folder, { recursive: true }))
    const file = join(folder, 'key.json')
    writeFileSync(file, google.key())
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', file)
    google.images = [image(1, ['a'])]
    const { source } = sourceOf({ credentials: async () => undefined })
    expect((await source.listTags()).length).toBe(1)
    expect(google.claims.length).toBe(1)
  })

  it('are searched again when none were found', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skylab-google-'))
    closing.push(async () => rmSync(folder, { recursive: true }))
    const file = join(folder, 'key.json')
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', file)
    const { source } = sourceOf({ credentials: async () => undefined })
    await expect(source.listTags()).rejects.toThrow('Google gave no token: ')
    writeFileSync(file, google.key())
    expect(await source.listTags()).toEqual([])
  })

  it('lead to a new token before the old one expires', async () => {
    google.seconds = 60
    const { source } = sourceOf()
    await source.listTags()
    await source.listTags()
    expect(google.tokens.size).toBe(2)
  })

  it('lead to a new token once when one is refused', async () => {
    const { source } = sourceOf()
    await source.listTags()
    google.tokens.clear()
    expect(await source.listTags()).toEqual([])
    const before = google.server.asked.length
    google.server.faults.push(status(401), (asked, response) => google.giveToken(asked)(asked, response), status(401))
    await expect(source.listTags()).rejects.toThrow(`${google.server.host} answered 401`)
    expect(google.server.asked.length - before).toBe(3)
  })

  it('are read again within a minute of a change', async () => {
    let key = google.key()
    const { source, clock } = sourceOf({ credentials: async () => key })
    await source.listTags()
    key = google.key({ client_email: 'other@some-project.iam.gserviceaccount.com' })
    clock.advance(60_000)
    await source.listTags()
    expect(google.claims.map(({ iss }) => String(iss).split('@')[0])).toEqual(['reader', 'other'])
  })

  it('are read again at once when the old key is refused', async () => {
    let key = google.key()
    const { source } = sourceOf({ credentials: async () => key })
    await source.listTags()
    google.rotate()
    key = google.key()
    expect(await source.listTags()).toEqual([])
  })

  it.each<[string, string, string]>([
    ['no JSON', 'secret', 'the credentials are no JSON key of a service account'],
    ['no object', '"secret"', 'the credentials are no JSON key of a service account'],
    ['half a key', '{"type": "service_account", "private_key": "secret"}', 'are no JSON key of a service account'],
    [
      'credentials of another kind',
      '{"type": "external_account", "client_email": "a", "private_key": "secret"}',
      'are no JSON key of a service account',
    ],
    [
      'a key that is none',
      '{"type": "service_account", "client_email": "a", "private_key": "secret"}',
      'Google gave no token: ',
    ],
  ])('are refused: %s', async (_, text, words) => {
    const error: Error = await sourceOf({ credentials: async () => text })
      .source.listTags()
      .catch(error => error)
    expect(error.message).toContain(words)
    expect(error.message).not.toContain('secret')
    expect(google.server.asked).toEqual([])
  })

  it('do not sign for an address without TLS', async () => {
    const key = google.key({ token_uri: 'http://auth.example.org/token' })
    await expect(sourceOf({ credentials: async () => key }).source.listTags()).rejects.toThrow(
      'token_uri http://auth.example.org, which is not https',
    )
  })

  it('lead to an error with a reason when Google refuses them', async () => {
    const key = google.key()
    google.rotate()
    await expect(sourceOf({ credentials: async () => key }).source.listTags()).rejects.toThrow(
      'Google gave no token: invalid_grant: Invalid JWT Signature.',
    )
  })

  it('wait for a token no longer than configured', async () => {
    google.server.faults.push(faults.never)
    const { source, clock } = sourceOf()
    const listing = source.listTags()
    await google.server.whenAsked(1)
    clock.advance(5000)
    await expect(listing).rejects.toThrow('no answer within 5000 ms')
  })

  it('wait no longer than the caller', async () => {
    google.server.faults.push(faults.never)
    const caller = new AbortController()
    const listing = sourceOf().source.listTags(caller.signal)
    await google.server.whenAsked(1)
    caller.abort(new Error('gone'))
    await expect(listing).rejects.toThrow('gone')
  })
})
