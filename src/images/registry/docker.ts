/** A registry with the Docker Registry HTTP API V2 or OCI Distribution. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { isLoopback } from '../../base/loopback.ts'
import type { Answer } from '../../http/answer.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import { Authorizer } from './authorizer.ts'
import type { ReadCredentials } from './credential-cache.ts'
import { nextLink } from './headers.ts'
import { isSuccess, jsonOf, RegistryError, type RegistryHttp, unexpected } from './http.ts'
import { digestForm, tagForm } from './names.ts'
import { TagPages } from './pages.ts'
import type { ImageSource, ListedTag, Manifest } from './source.ts'

export interface DockerOptions {
  /** Host, with a port if it is not the default one. */
  readonly registry: string
  readonly repository: string
  /** Whether it is used without TLS; a loopback address always is. */
  readonly plainHttp: boolean
  readonly maxTags: number
  /** `images.tokenHosts` */
  readonly tokenHosts?: readonly string[] | undefined
  /** The text of a Docker config.json. */
  readonly credentials: ReadCredentials
  readonly http: RegistryHttp
  readonly clock: Clock
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

/** Registries must accept manifests of this size (OCI Distribution), and have no larger ones in practice. */
const maxManifestBytes = 4 * 1024 * 1024
/** Registries without pages return all tags at once: a hundred thousand of a hundred bytes. */
const maxPageBytes = 16 * 1024 * 1024
const pageSize = 1000

/** Statuses of registries that do not support HEAD. */
const noHead = [405, 501]

const listSchema = z.object({ tags: z.array(z.string()).nullish() })
const blobSchema = z.object({ size: z.number().int().nonnegative() })
/** An index has neither field, and no single size. */
const imageSchema = z.object({ config: blobSchema, layers: z.array(blobSchema) })

export class DockerRegistry implements ImageSource {
  readonly #options: DockerOptions
  readonly #origin: URL
  readonly #authorizer: Authorizer

  constructor(options: DockerOptions) {
    this.#options = options
    this.#origin = originOf(options.registry, options.plainHttp)
    this.#authorizer = new Authorizer({ ...options, origin: this.#origin })
  }

  async listTags(signal?: AbortSignal): Promise<readonly ListedTag[]> {
    const { repository, maxTags } = this.#options
    const pages = new TagPages(this.#repositoryName, maxTags)
    let url: URL | undefined = new URL(`/v2/${repository}/tags/list?n=${pageSize}`, this.#origin)
    while (url) {
      pages.request(url.href)
      const answer: Answer = await this.#ask({ method: 'GET', url, maxBytes: maxPageBytes, signal })
      const none = 'no such repository'
      if (answer.status === 404) throw new RegistryError(`${this.#origin.host} answered 404: ${none}`, { words: none })
      if (!isSuccess(answer)) throw unexpected(answer)
      // An invalid tag could not be requested.
      for (const tag of jsonOf(answer, listSchema).tags ?? []) if (tagForm.test(tag)) pages.add({ tag })
      url = this.#nextPage(answer.header('link'), url)
    }
    return pages.tags
  }

  async manifestOf(reference: string, signal?: AbortSignal): Promise<Manifest | null> {
    if (!tagForm.test(reference) && !digestForm.test(reference)) throw new RegistryError('neither a tag nor a digest')
    const url = new URL(`/v2/${this.#options.repository}/manifests/${reference}`, this.#origin)
    const request = { url, headers: { Accept: manifestTypes }, maxBytes: maxManifestBytes, signal }
    let answer = await this.#ask({ ...request, method: 'HEAD' })
    const digest = answer.header('docker-content-digest')
    if (isSuccess(answer) && digestForm.test(digest)) return { digest }
    if (isSuccess(answer) || noHead.includes(answer.status)) answer = await this.#ask({ ...request, method: 'GET' })
    if (answer.status === 404) return null
    if (!isSuccess(answer)) throw unexpected(answer)
    return manifestIn(answer)
  }

  async close(): Promise<void> {
    await this.#options.http.close()
  }

  get #repositoryName(): string {
    return `${this.#options.registry}/${this.#options.repository}`
  }

  /** Sends the header that the registry last accepted, and a renewed one after a refusal. */
  async #ask(request: HttpRequest): Promise<Answer> {
    const { http } = this.#options
    const send = (authorization: string | undefined) => {
      const shown = authorization === undefined ? {} : { Authorization: authorization }
      return http.follow({ ...request, headers: { ...request.headers, ...shown } })
    }
    // Only the registry itself gets credentials: at the target of a redirect, 401 is an ordinary answer.
    const refuses = ({ status, url }: Answer) => status === 401 && url.origin === this.#origin.origin
    const shown = await this.#authorizer.header(request.signal)
    const answer = await send(shown)
    if (!refuses(answer)) return answer
    const challenges = answer.header('www-authenticate')
    const again = await send(await this.#authorizer.renewed(challenges, shown, request.signal))
    if (!refuses(again)) return again
    throw this.#authorizer.refused()
  }

  /** Requested from the registry itself, by the configured scheme, whatever origin `Link` has. */
  #nextPage(header: string, page: URL): URL | undefined {
    const target = nextLink(header)
    if (target === undefined) return undefined
    const url = URL.canParse(target, page.href) ? new URL(target, page) : undefined
    if (url?.host === page.host) return new URL(url.pathname + url.search, this.#origin)
    throw new RegistryError(`${page.host} has the next page of its tags on another host`)
  }
}

/** The address of a registry. Docker Hub's short name is not a host. */
export function originOf(registry: string, plainHttp: boolean): URL {
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry
  return new URL(`${plainHttp || isLoopback(registry) ? 'http' : 'https'}://${host}`)
}

function manifestIn(answer: Answer): Manifest {
  const digest = `sha256:${createHash('sha256').update(answer.body).digest('hex')}`
  const claimed = answer.header('docker-content-digest')
  if (digestForm.test(claimed) && claimed !== digest) {
    throw new RegistryError(`${answer.url.host} gave a manifest that is not what its digest says`)
  }
  const image = imageSchema.safeParse(jsonOf(answer, z.unknown()))
  if (!image.success) return { digest }
  const blobs = [image.data.config, ...image.data.layers]
  return { digest, sizeBytes: blobs.reduce((sum, { size }) => sum + size, 0) }
}
