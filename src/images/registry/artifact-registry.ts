/** Google Artifact Registry by its REST API: https://cloud.google.com/artifact-registry/docs/reference/rest */
import { z } from 'zod'
import type { ImageConfig } from '../../config/images.ts'
import { repositoryOf } from '../../config/images.ts'
import type { Answer } from '../../http/answer.ts'
import type { GoogleTokens } from './google-tokens.ts'
import { isSuccess, jsonOf, RegistryError, type RegistryHttp, unexpected } from './http.ts'
import { digestForm, tagForm } from './names.ts'
import { TagPages } from './pages.ts'
import type { ImageSource, ListedTag, Manifest } from './source.ts'

export interface ArtifactRegistryOptions {
  readonly gar: NonNullable<ImageConfig['gar']>
  readonly maxTags: number
  readonly tokens: GoogleTokens
  readonly http: RegistryHttp
}

/** The largest page of the API. */
const pageSize = 1000
const fields = 'nextPageToken,dockerImages(uri,tags,imageSizeBytes,mediaType)'
const maxPageBytes = 16 * 1024 * 1024

const imageSchema = z.object({
  /** `<host>/<project>/<repository>/<image>@<digest>` */
  uri: z.string(),
  tags: z.array(z.string()).nullish(),
  /** An int64, which is a string in JSON. */
  imageSizeBytes: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .nullish(),
  mediaType: z.string().nullish(),
})
type Image = z.output<typeof imageSchema>

const listSchema = z.object({ dockerImages: z.array(imageSchema).nullish(), nextPageToken: z.string().nullish() })
/** `…/versions/<digest>` */
const tagSchema = z.object({ version: z.string() })

export class ArtifactRegistry implements ImageSource {
  readonly #options: ArtifactRegistryOptions
  /** Path of the repository, which may have other images too. */
  readonly #root: string

  constructor(options: ArtifactRegistryOptions) {
    const { endpoint, projectId, location, repository } = options.gar
    this.#options = options
    const parts = ['projects', projectId, 'locations', location, 'repositories', repository]
    this.#root = `${endpoint.replace(/\/+$/, '')}/v1/${parts.map(encodeURIComponent).join('/')}`
  }

  async listTags(signal?: AbortSignal): Promise<readonly ListedTag[]> {
    const { gar, maxTags } = this.#options
    const pages = new TagPages(repositoryOf({ gar }), maxTags)
    let pageToken: string | null | undefined = ''
    do {
      pages.request(pageToken)
      const query: Record<string, string> = { pageSize: String(pageSize), fields, ...(pageToken && { pageToken }) }
      const answer = await this.#ask(`dockerImages?${new URLSearchParams(query)}`, signal)
      if (!isSuccess(answer)) throw unexpected(answer)
      const page: z.output<typeof listSchema> = jsonOf(answer, listSchema)
      for (const image of page.dockerImages ?? []) for (const tag of this.#tagsOf(image)) pages.add(tag)
      pageToken = page.nextPageToken
    } while (pageToken)
    return pages.tags
  }

  async manifestOf(reference: string, signal?: AbortSignal): Promise<Manifest | null> {
    const image = encodeURIComponent(this.#options.gar.image)
    if (tagForm.test(reference)) return this.#digestOf(`packages/${image}/tags/${reference}`, signal)
    if (!digestForm.test(reference)) throw new RegistryError('neither a tag nor a digest')
    const answer = await this.#ask(`dockerImages/${image}@${reference}`, signal)
    if (answer.status === 404) return null
    if (!isSuccess(answer)) throw unexpected(answer)
    return { digest: reference, ...sizeOf(jsonOf(answer, imageSchema)) }
  }

  async close(): Promise<void> {
    await this.#options.http.close()
  }

  async #digestOf(tag: string, signal: AbortSignal | undefined): Promise<Manifest | null> {
    const answer = await this.#ask(tag, signal)
    if (answer.status === 404) return null
    if (!isSuccess(answer)) throw unexpected(answer)
    const digest = jsonOf(answer, tagSchema).version.split('/').at(-1)!
    if (digestForm.test(digest)) return { digest }
    throw new RegistryError(`the answer of ${answer.url.host} is malformed at version`)
  }

  /** Tags of the configured image; none for another image. */
  #tagsOf(image: Image): readonly ListedTag[] {
    const [name = '', digest = ''] = image.uri.split('@')
    const isOurs = name.slice(name.indexOf('/') + 1) === repositoryOf(this.#options)
    if (!isOurs || !digestForm.test(digest)) return []
    return (image.tags ?? []).filter(tag => tagForm.test(tag)).map(tag => ({ tag, digest, ...sizeOf(image) }))
  }

  /** Asks once more with a new token if the first one is refused. */
  async #ask(path: string, signal: AbortSignal | undefined): Promise<Answer> {
    const { http, tokens } = this.#options
    const url = new URL(`${this.#root}/${path}`)
    const send = async () =>
      http.send({ method: 'GET', url, headers: await tokens.headers(signal), maxBytes: maxPageBytes, signal })
    const answer = await send()
    if (answer.status !== 401) return answer
    await tokens.renew()
    return send()
  }
}

/** An index has no single size. */
function sizeOf({ imageSizeBytes, mediaType }: Image): { readonly sizeBytes?: number } {
  const isIndex = /\.(index|manifest\.list)\./.test(mediaType ?? '')
  return typeof imageSizeBytes === 'number' && !isIndex ? { sizeBytes: imageSizeBytes } : {}
}
