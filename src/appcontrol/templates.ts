/** REST of templates: it shows them as the watch does, and administrators write them. */
import { createdMsOf } from '../apps/spec.ts'
import { type AppTemplate, templateOf, templateParent } from '../apps/template.ts'
import type { Identity } from '../base/domain.ts'
import { ApiError, unavailable } from '../base/errors.ts'
import { asObject, type JsonObject } from '../base/json.ts'
import { keyOf } from '../kube/cache.ts'
import type { Fact, OverlaidWatch } from '../reconcile/types.ts'
import { changed, noTemplate, templateTaken } from './problems.ts'
import { etagOf } from './sights.ts'
import { maskedTemplate, replacing, type TemplateWish, unmasked } from './template-masks.ts'
import type { AppWrite, AppWriter } from './writer.ts'

export type { TemplateWish } from './template-masks.ts'

/** Secret values are masked. */
export interface TemplateSummary extends Omit<AppTemplate, 'spec'> {
  readonly createdAt: string
}

export interface TemplateDetail extends TemplateSummary {
  readonly template: { readonly spec: JsonObject }
}

export interface TemplateVersion {
  readonly detail: TemplateDetail
  readonly etag: string
}

export interface TemplatePage {
  readonly templates: readonly TemplateSummary[]
  /** The cursor of the next page; absent: there is none. */
  readonly cursor?: string
}

export interface TemplateFilter {
  readonly limit: number
  /** The id after which the page begins. */
  readonly cursor?: string | undefined
}

/** The service that the routes use. Every method throws {ApiError}: 404 without a template, 503 for now. */
export interface Templates {
  list(filter: TemplateFilter): TemplatePage
  find(id: string): TemplateVersion
  /** As the API server has it now, for a change of a part. */
  read(id: string, by: Caller): Promise<TemplateVersion>
  /** @throws {ApiError} 412 when `ifMatch` names another version, 422 */
  put(
    id: string,
    wish: TemplateWish,
    by: Caller,
    ifMatch?: string,
  ): Promise<TemplateVersion & { readonly isNew: boolean }>
  /** @throws {ApiError} 409 when there is one of this id, 422 */
  make(id: string, wish: TemplateWish, by: Caller): Promise<TemplateVersion>
  /** @returns the template as it was */
  delete(id: string, by: Caller, ifMatch?: string): Promise<TemplateVersion>
}

type Caller = Pick<Identity, 'username'>

interface TemplateWrite extends AppWrite {
  readonly namespace: string
}

export interface TemplateServiceOptions {
  /** `apps.rest.templateNamespace`; without it there are no templates. */
  readonly namespace: string | undefined
  readonly watch: Pick<OverlaidWatch, 'get' | 'values'>
  readonly writer: Pick<AppWriter, 'create' | 'patch' | 'delete' | 'present'>
  /** `lab.secretPatterns` */
  readonly secretPatterns: readonly string[]
  readonly isSynced: () => boolean
}

export class TemplateService implements Templates {
  readonly #options: TemplateServiceOptions

  constructor(options: TemplateServiceOptions) {
    this.#options = options
  }

  list({ limit, cursor = '' }: TemplateFilter): TemplatePage {
    this.#requireSync()
    const { namespace, watch } = this.#options
    const all = [...watch.values()]
      .filter(({ ref, deleting }) => ref.namespace === namespace && !deleting && ref.name > cursor)
      .sort((a, b) => (a.ref.name < b.ref.name ? -1 : 1))
    const templates = all.slice(0, limit).map(fact => this.#summary(fact))
    return { templates, ...(all.length > limit && { cursor: templates.at(-1)!.id }) }
  }

  find(id: string): TemplateVersion {
    return this.#version(this.#fact(id))
  }

  async read(id: string, by: Caller): Promise<TemplateVersion> {
    const write = this.#write(id, by, 'read')
    return this.#version(await this.#options.writer.present(write))
  }

  /** With its secret values, for the apps that are made of it. */
  whole(id: string): AppTemplate | undefined {
    this.#requireSync()
    const fact = this.#standing(id)
    return fact && templateOf(fact)
  }

  async put(id: string, wish: TemplateWish, by: Caller, ifMatch?: string) {
    this.#requireSync()
    const { writer, secretPatterns: patterns } = this.#options
    const write = this.#write(id, by, 'put', ifMatch)
    const specOf = (fact: Fact) => unmasked(wish, templateOf(fact), patterns)
    const wished = (fact: Fact) => ({ spec: replacing(specOf(fact), asObject(fact.owned.spec)) })
    for (let isFirst = true; ; isFirst = false) {
      try {
        const fact = await writer.patch(write, wished)
        return { ...this.#version(fact), isNew: false }
      } catch (error) {
        if (!isNoTemplate(error)) throw error
        if (ifMatch !== undefined) throw changed('template')
      }
      const { fact, isNew } = await this.#create(write, wish)
      if (isNew) return { ...this.#version(fact), isNew }
      if (!isFirst) throw unavailable('others make and delete this template all the time')
    }
  }

  async make(id: string, wish: TemplateWish, by: Caller): Promise<TemplateVersion> {
    this.#requireSync()
    const { fact, isNew } = await this.#create(this.#write(id, by, 'make'), wish)
    if (!isNew) throw templateTaken()
    return this.#version(fact)
  }

  async delete(id: string, by: Caller, ifMatch?: string): Promise<TemplateVersion> {
    const write = this.#write(id, by, 'delete', ifMatch)
    return this.#version(await this.#options.writer.delete(write))
  }

  #create({ id, what, namespace }: TemplateWrite, wish: TemplateWish) {
    const { writer, secretPatterns } = this.#options
    const spec = unmasked(wish, undefined, secretPatterns)
    return writer.create({ ...templateParent, metadata: { name: id, namespace }, spec }, what)
  }

  /** @throws {ApiError} 404 where the site has no templates */
  #write(id: string, { username }: Caller, verb: string, ifMatch?: string): TemplateWrite {
    const { namespace } = this.#options
    if (namespace === undefined) throw off()
    return { id, namespace, what: `${verb} user=${encodeURIComponent(username)}`, ifMatch, app: () => this.#fact(id) }
  }

  #standing(id: string): Fact | undefined {
    const { namespace, watch } = this.#options
    const fact = namespace === undefined ? undefined : watch.get(keyOf(namespace, id))
    return fact?.deleting ? undefined : fact
  }

  /** @throws {ApiError} 404, 503 */
  #fact(id: string): Fact {
    this.#requireSync()
    const fact = this.#standing(id)
    if (!fact) throw noTemplate()
    return fact
  }

  #summary(fact: Fact): TemplateSummary {
    const { template: _, ...summary } = this.#version(fact).detail
    return summary
  }

  #version(fact: Fact): TemplateVersion {
    const { spec, ...shown } = maskedTemplate(templateOf(fact), this.#options.secretPatterns)
    const detail = { ...shown, createdAt: new Date(createdMsOf(fact)).toISOString(), template: { spec } }
    return { detail, etag: etagOf(fact) }
  }

  #requireSync(): void {
    const { namespace, isSynced } = this.#options
    if (namespace !== undefined && !isSynced()) throw unavailable('the watches do not show the cluster yet')
  }
}

const isNoTemplate = (error: unknown): boolean => error instanceof ApiError && error.status === 404

const off = () =>
  new ApiError(404, {
    msg: 'this site has no templates: apps.rest.templateNamespace is not set',
    type: 'unknown_template',
    loc: ['path', 'id'],
  })
