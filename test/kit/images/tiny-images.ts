/** Many images of a few bytes each, pushed into a real registry by its API. */
import { createHash } from 'node:crypto'
import { Slots } from '../../../src/base/slots.ts'

const manifestType = 'application/vnd.oci.image.manifest.v1+json'
/** Concurrent requests: most of their time goes to the registry's disk. */
const breadth = 8

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

export interface TinyImages {
  /** `host:port` of a registry with plain HTTP. */
  readonly registry: string
  readonly repository: string
  /** A word for the image of each tag: tags with the same word name one image. */
  readonly images: ReadonlyMap<string, string>
}

/** Pushes them all. Returns the digest of each tag. */
export async function pushImages({ registry, repository, images }: TinyImages): Promise<ReadonlyMap<string, string>> {
  const base = `http://${registry}/v2/${repository}`
  const [config, layer] = await Promise.all(['{}', 'what is in the image'].map(text => pushBlob(base, text)))
  const slots = new Slots(breadth)
  const pushed = [...images].map(async ([tag, content]): Promise<[string, string]> => {
    const body = JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestType,
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...config },
      layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', ...layer }],
      annotations: { 'org.opencontainers.image.description': content },
    })
    const headers = { 'content-type': manifestType }
    await slots.run(() => ask(`${base}/manifests/${tag}`, { method: 'PUT', headers, body }))
    return [tag, digestOf(body)]
  })
  return new Map(await Promise.all(pushed))
}

/** Deletes an image, with all tags that name it. */
export async function removeImage(registry: string, repository: string, digest: string): Promise<void> {
  await ask(`http://${registry}/v2/${repository}/manifests/${digest}`, { method: 'DELETE' })
}

async function pushBlob(base: string, text: string): Promise<{ digest: string; size: number }> {
  const digest = digestOf(text)
  const begun = await ask(`${base}/blobs/uploads/`, { method: 'POST' })
  const location = new URL(begun.headers.get('location') ?? '', base)
  location.searchParams.set('digest', digest)
  await ask(location.href, { method: 'PUT', headers: { 'content-type': 'application/octet-stream' }, body: text })
  return { digest, size: Buffer.byteLength(text) }
}

async function ask(url: string, request: RequestInit): Promise<Response> {
  const response = await fetch(url, request)
  const words = await response.text()
  if (!response.ok) throw new Error(`${request.method} ${url}: ${response.status} ${words.trim()}`)
  return response
}
