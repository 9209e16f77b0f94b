/** Repositories of many tags, of both kinds: the replicas' configuration, and a count of requests. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigInput } from '../../dev/stack/config.ts'
import { startDockerRegistry } from '../../test/kit/images/docker-registry.ts'
import { FakeGoogle } from '../../test/kit/images/google.ts'
import { dailiesFrom, weekliesFrom } from '../../test/kit/images/tags.ts'
import { pushImages } from '../../test/kit/images/tiny-images.ts'

export interface Repository {
  readonly images: NonNullable<ConfigInput['images']>
  /** Number of requests so far, without those that filled it. */
  requests(): number
  /** Reads the list of tags with fetch only, page by page; returns their number. */
  list(): Promise<number>
  close(): Promise<unknown>
}

/** Half weeklies and half dailies, and one recommended tag. */
function tagsOf(count: number): { tags: string[]; recommended: string } {
  const half = Math.floor((count - 1) / 2)
  const tags = [...weekliesFrom(2026, 46, half), ...dailiesFrom('2026-11-20', count - 1 - half)]
  return { tags, recommended: tags[1]! }
}

/** A repository in Debian's docker-registry. */
export async function dockerRepository(count: number): Promise<Repository> {
  const registry = await startDockerRegistry()
  try {
    const repository = 'lsstsqre/sciplat-lab'
    const { tags, recommended } = tagsOf(count)
    const images = new Map([...tags.map((tag): [string, string] => [tag, tag]), ['recommended', recommended]])
    await pushImages({ registry: registry.address, repository, images })
    const first = `/v2/${repository}/tags/list?n=1000`
    return {
      images: { registry: registry.address, docker: { repository } },
      requests: () => registry.asked().filter(line => /^(GET|HEAD) /.test(line)).length,
      list: async () => {
        let listed = 0
        for (let path: string | undefined = first; path !== undefined; ) {
          const answer: Response = await fetch(`http://${registry.address}${path}`)
          const { tags } = (await answer.json()) as { tags: string[] }
          listed += tags.length
          path = /^<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1]
        }
        return listed
      },
      close: () => registry.stop(),
    }
  } catch (error) {
    await registry.stop()
    throw error
  }
}

/** A repository in an Artifact Registry of this process. */
export async function googleRepository(count: number, folder: string): Promise<Repository> {
  const google = await FakeGoogle.start()
  const { tags, recommended } = tagsOf(count)
  google.images = tags.map((tag, number) => ({
    uri: `us-central1-docker.pkg.dev/some-project/sciplat/sciplat-lab@sha256:${number.toString(16).padStart(64, '0')}`,
    tags: tag === recommended ? [tag, 'recommended'] : [tag],
    imageSizeBytes: String(4_000_000_000 + number),
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
  }))
  const credentialsFile = join(folder, 'google.json')
  writeFileSync(credentialsFile, google.key(), { mode: 0o600 })
  google.tokens.add('bench')
  return {
    images: { registry: 'us-central1-docker.pkg.dev', docker: undefined, gar: google.gar(), credentialsFile },
    requests: () => google.server.asked.length,
    list: async () => {
      let listed = 0
      for (let token: string | undefined = ''; token !== undefined; ) {
        const url = `${google.server.url}${google.root}/dockerImages?pageSize=1000${token && `&pageToken=${token}`}`
        const answer = await fetch(url, { headers: { authorization: 'Bearer bench' } })
        const page = (await answer.json()) as { dockerImages: { tags: string[] }[]; nextPageToken?: string }
        listed += page.dockerImages.reduce((sum, { tags }) => sum + tags.length, 0)
        token = page.nextPageToken
      }
      return listed
    },
    close: () => google.server.stop(),
  }
}
