/** Pushes OCI layouts by the registry's API: https://github.com/opencontainers/distribution-spec/blob/main/spec.md */
import { openAsBlob } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { blobPath, type Descriptor } from './layout.ts'

export interface PushOptions {
  readonly layout: string
  /** `host:port` of a registry that speaks plain HTTP. */
  readonly registry: string
  readonly repository: string
  /** Tags for the same manifest. */
  readonly tags: readonly string[]
}

/** Pushes the blobs that the registry lacks, and returns the manifest's digest. Fails with the registry's message. */
export async function pushLayout({ layout, registry, repository, tags }: PushOptions): Promise<string> {
  const base = `http://${registry}/v2/${repository}`
  const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8'))
  const manifest: Descriptor = index.manifests[0]
  const content = await readFile(blobPath(layout, manifest.digest))
  const { config, layers } = JSON.parse(content.toString('utf8'))
  await Promise.all([config, ...layers].map((blob: Descriptor) => pushBlob(base, layout, blob.digest)))
  for (const tag of tags) {
    const headers = { 'content-type': manifest.mediaType }
    await ask(`${base}/manifests/${tag}`, { method: 'PUT', headers, body: content })
  }
  return manifest.digest
}

async function pushBlob(base: string, layout: string, digest: string): Promise<void> {
  const known = await fetch(`${base}/blobs/${digest}`, { method: 'HEAD' })
  if (known.ok) return
  const begun = await ask(`${base}/blobs/uploads/`, { method: 'POST' })
  // The upload's URL may be relative, and has a query of its own.
  const location = new URL(begun.headers.get('location') ?? '', base)
  location.searchParams.set('digest', digest)
  const headers = { 'content-type': 'application/octet-stream' }
  await ask(location.href, { method: 'PUT', headers, body: await openAsBlob(blobPath(layout, digest)) })
}

async function ask(url: string, request: RequestInit): Promise<Response> {
  const response = await fetch(url, request)
  const words = await response.text()
  if (!response.ok) throw new Error(`${request.method} ${url}: ${response.status} ${words.trim()}`)
  return response
}
