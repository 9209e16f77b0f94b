import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Descriptor, writeLayout } from './layout.ts'
import { pushLayout } from './push.ts'

/** The part of a registry that a push uses; it refuses content that does not match its digest. */
class Registry {
  readonly blobs = new Map<string, number>()
  readonly tags = new Map<string, string>()
  uploads = 0
  refusal: string | null = null
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response))

  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const { status, location } = this.#act(request, body)
    response.writeHead(status, location ? { location } : {}).end(status >= 400 ? (this.refusal ?? '') : '')
  }

  #act(request: IncomingMessage, body: Buffer): { status: number; location?: string } {
    const url = new URL(request.url ?? '', 'http://registry')
    const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`
    const last = url.pathname.split('/').at(-1) ?? ''
    if (this.refusal && request.method !== 'HEAD') return { status: 507 }
    if (request.method === 'HEAD') return { status: this.blobs.has(last) ? 200 : 404 }
    if (request.method === 'POST') return { status: 202, location: `/v2/upload?state=${++this.uploads}` }
    if (url.pathname === '/v2/upload') {
      if (url.searchParams.get('digest') !== digest || !url.searchParams.get('state')) return { status: 400 }
      this.blobs.set(digest, body.length)
      return { status: 201 }
    }
    if (!url.pathname.startsWith('/v2/team/lab/manifests/')) return { status: 404 }
    this.tags.set(last, `${digest} ${request.headers['content-type']}`)
    return { status: 201 }
  }
}

let work: string
let registry: Registry
let address: string
let manifest: Descriptor
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'push-'))
  await mkdir(join(work, 'rootfs'))
  await writeFile(join(work, 'rootfs', 'file'), 'content')
  manifest = await writeLayout({ rootfs: join(work, 'rootfs'), out: join(work, 'layout'), name: 'lab', config: {} })
  registry = new Registry()
  address = await registry.start()
})
afterEach(async () => {
  await registry.stop()
  await rm(work, { recursive: true, force: true })
})

const push = (tags: string[]) =>
  pushLayout({ layout: join(work, 'layout'), registry: address, repository: 'team/lab', tags })

describe('pushLayout', () => {
  it('pushes the blobs, then one manifest under all tags', async () => {
    expect(await push(['recommended', 'w_2026_46'])).toBe(manifest.digest)
    expect(registry.blobs.size).toBe(2)
    const named = `${manifest.digest} application/vnd.oci.image.manifest.v1+json`
    expect(Object.fromEntries(registry.tags)).toEqual({ recommended: named, w_2026_46: named })
  })

  it('sends no blob that the registry has', async () => {
    await push(['one'])
    await push(['two'])
    expect(registry.uploads).toBe(2)
    expect([...registry.tags.keys()]).toEqual(['one', 'two'])
  })

  it('fails with the message of the registry', async () => {
    registry.refusal = 'no room left'
    await expect(push(['one'])).rejects.toThrow(/POST .*uploads.* 507 no room left/)
  })
})
