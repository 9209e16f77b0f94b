/** REST of apps: it shows them as the watches do, and writes the wishes of people. */
import { randomBytes } from 'node:crypto'
import { groupNameOf } from '../apps/spec.ts'
import { templateIn } from '../apps/template.ts'
import { appAnnotations } from '../apps/words.ts'
import type { AppPhase, AppScope } from '../base/app-route.ts'
import { asObject, type JsonObject } from '../base/json.ts'
import type { MergePatch } from '../kube/calls.ts'
import { stamps } from '../kube/labels.ts'
import type { Fact } from '../reconcile/types.ts'
import type { Feed } from '../store/streams.ts'
import { type AppWish, requireFilled } from './creation.ts'
import type { AppCreator } from './creator.ts'
import {
  containersOf,
  type EnvShown,
  type EnvTerms,
  type EnvWish,
  envParts,
  type NewEnv,
  newEnv,
  shownEnv,
} from './env.ts'
import type { AppEvent } from './events.ts'
import { noInstanceType, notMember } from './problems.ts'
import { AppReader, type ReaderOptions } from './reader.ts'
import type { AppSecrets } from './secrets.ts'
import { type Choice, type Part, partOf, type Span } from './selection.ts'
import { type Asker, annotationOf, specOf } from './sights.ts'
import {
  type AppDetail,
  type AppSummary,
  type AppVersion,
  detailOf,
  type PodView,
  phaseOf,
  podView,
  summaryOf,
} from './view.ts'
import { type AppWrite, type AppWriter, shownBy } from './writer.ts'

export type { Asker } from './sights.ts'

export interface AppFilter {
  readonly group?: string | undefined
  readonly phase?: AppPhase | undefined
  readonly limit: number
  /** The id after which the page begins. */
  readonly cursor?: string | undefined
}

export interface AppPage {
  readonly apps: readonly AppSummary[]
  /** The cursor of the next page; absent: there is none. */
  readonly cursor?: string
}

/** Fields that are absent stay as they are. */
export interface AppChange {
  readonly displayName?: string | undefined
  readonly scope?: AppScope | undefined
  readonly instanceType?: string | undefined
  readonly env?: readonly EnvWish[] | undefined
}

/** The service that the routes use. Every method throws {ApiError}: 403 for a caller who is no member, 404 without an app, 503. */
export interface Apps {
  list(asker: Asker, filter: AppFilter): AppPage
  /** Whole apps, by id. */
  select(asker: Asker, choice: Choice, span: Span): Part<AppDetail>
  find(id: string, asker: Asker): AppVersion
  /** @throws {ApiError} 409 when another app has the id, 422 */
  create(wish: AppWish, asker: Asker): Promise<AppVersion & { readonly isNew: boolean }>
  pods(id: string, asker: Asker): readonly PodView[]
  /** @throws {ApiError} 412 when `ifMatch` names another version, 422 */
  change(id: string, asker: Asker, change: AppChange, ifMatch?: string): Promise<AppVersion>
  stop(id: string, asker: Asker, stop: boolean, ifMatch?: string): Promise<AppVersion>
  /** @returns the app as it was */
  delete(id: string, asker: Asker, ifMatch?: string): Promise<AppVersion>
  /** The events of an app after the one that the client names, else all that are kept; they go on until it is gone. */
  events(
    id: string,
    asker: Asker,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): Promise<Feed<AppEvent> | 'ended' | null>
}

export interface AppServiceOptions extends ReaderOptions {
  readonly writer: AppWriter
  readonly creator: Pick<AppCreator, 'create'>
  readonly secrets: AppSecrets
  /** `apps.instanceTypes` */
  readonly instanceTypes: Readonly<Record<string, unknown>>
  /** `lab.secretPatterns` */
  readonly secretPatterns: readonly string[]
  readonly openEvents: (app: Fact, lastEventId: string | undefined, signal: AbortSignal) => ReturnType<Apps['events']>
}

export class AppService implements Apps {
  readonly #options: AppServiceOptions
  readonly #reader: AppReader

  constructor(options: AppServiceOptions) {
    this.#options = options
    this.#reader = new AppReader(options)
  }

  list(asker: Asker, { group, phase, limit, cursor }: AppFilter): AppPage {
    this.#reader.requireSync()
    const { isMember } = this.#options
    if (group !== undefined && asker.audience === 'user' && !isMember(asker.caller, group))
      throw notMember(group, 'query', 'group')
    const apps: AppSummary[] = []
    for (const app of this.#reader.visible(asker, cursor)) {
      if ((group !== undefined && groupNameOf(app) !== group) || (phase !== undefined && phaseOf(app) !== phase))
        continue
      // One more than the page has: there is another page.
      if (apps.length === limit) return { apps, cursor: apps.at(-1)!.id }
      apps.push(summaryOf(app))
    }
    return { apps }
  }

  select(asker: Asker, { id, groups, templateContains }: Choice, span: Span): Part<AppDetail> {
    const all = id === undefined ? [...this.#reader.visible(asker)] : [this.#app(id, asker)]
    const chosen = all.filter(
      app =>
        (groups === undefined || groups.includes(groupNameOf(app))) &&
        (templateContains === undefined || templateIdOf(app).includes(templateContains)),
    )
    const { entries, ...ends } = partOf(chosen, ({ ref }) => ref.name, span)
    return { ...ends, entries: entries.map(app => this.#version(app).detail) }
  }

  find(id: string, asker: Asker): AppVersion {
    return this.#version(this.#app(id, asker))
  }

  async create(wish: AppWish, asker: Asker): Promise<AppVersion & { readonly isNew: boolean }> {
    this.#reader.requireSync()
    const { fact, isNew } = await this.#options.creator.create(wish, asker)
    return { ...this.#version(fact), isNew }
  }

  pods(id: string, asker: Asker): readonly PodView[] {
    const pods = this.#options.sights.podsOf(this.#app(id, asker))
    return pods.map(podView).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async change(id: string, asker: Asker, change: AppChange, ifMatch?: string): Promise<AppVersion> {
    const { instanceTypes, secrets, secretPatterns: patterns } = this.#options
    const { displayName, scope, instanceType, env } = change
    if (instanceType !== undefined && instanceType !== '' && !Object.hasOwn(instanceTypes, instanceType))
      throw noInstanceType(Object.keys(instanceTypes))
    const terms = { id, patterns, suffix: randomBytes(8).toString('hex') }
    const envOf = (app: Fact) => env && changedEnv(app, env, terms)
    const wished = (app: Fact): MergePatch => {
      const env = envOf(app)
      return {
        spec: { displayName, scope, instanceType, ...podTemplateOf(app, env) },
        ...templateDataOf(app, change, env && shownEnv(env.own, patterns)),
      }
    }
    const write = this.#write(id, asker, 'change', ifMatch)
    const agent = `app=${id} ${write.what}`
    // A later round writes the same values, so the Secret of an earlier one serves it, unless it is of a former app of this id.
    let servedUid: string | undefined
    const prepare = async (app: Fact) => {
      if (servedUid === app.uid) return
      await secrets.make(app, { suffix: terms.suffix, values: envOf(app)?.secrets ?? {}, agent })
      servedUid = app.uid
    }
    return this.#version(await this.#options.writer.patch(write, wished, prepare))
  }

  async stop(id: string, asker: Asker, stop: boolean, ifMatch?: string): Promise<AppVersion> {
    const write = this.#write(id, asker, stop ? 'stop' : 'start', ifMatch)
    // The annotation would stop it again.
    const metadata = stop ? {} : { metadata: { annotations: { [stamps.stopped]: null } } }
    const wished = () => ({ spec: { stop }, ...metadata })
    return this.#version(await this.#options.writer.patch(write, wished))
  }

  async delete(id: string, asker: Asker, ifMatch?: string): Promise<AppVersion> {
    return this.#version(await this.#options.writer.delete(this.#write(id, asker, 'delete', ifMatch)))
  }

  async events(id: string, asker: Asker, lastEventId: string | undefined, signal: AbortSignal) {
    const write = this.#write(id, asker, 'events', undefined)
    // A client that has made an app at another replica follows it at once.
    const app = shownBy(write) ?? (await this.#options.writer.present(write, signal))
    return this.#options.openEvents(app, lastEventId, signal)
  }

  #write(id: string, asker: Asker, verb: string, ifMatch: string | undefined): AppWrite {
    const what = `${verb} user=${encodeURIComponent(asker.caller.username)}`
    return { id, what, ifMatch, app: () => this.#app(id, asker) }
  }

  #app(id: string, asker: Asker): Fact {
    return this.#reader.app(id, asker)
  }

  #version(app: Fact): AppVersion {
    return detailOf(app, this.#options.secretPatterns)
  }
}

const templateIds = new WeakMap<Fact, string>()

/** Each fact is read once: an annotation may have 256 KiB, and a choice looks at all apps. */
function templateIdOf(app: Fact): string {
  const known = templateIds.get(app)
  if (known !== undefined) return known
  const id = (templateIn(annotationOf(app, appAnnotations.template))?.id ?? '').slice(0, 63)
  templateIds.set(app, id)
  return id
}

/** @throws {ApiError} 422 */
function changedEnv(app: Fact, env: readonly EnvWish[], terms: EnvTerms): NewEnv {
  requireFilled(env, templateIn(annotationOf(app, appAnnotations.template))?.defaultEnvs ?? [])
  return newEnv(env, envParts(app), terms)
}

/** A patch replaces a list as a whole, so all containers are in it. */
function podTemplateOf(app: Fact, env: NewEnv | undefined): JsonObject {
  const [first, ...others] = containersOf(specOf(app))
  if (!env || !first || (env.entries.length === 0 && first.env === undefined)) return {}
  return { podTemplate: { spec: { containers: [{ ...first, env: env.entries }, ...others] } } }
}

/** The wish by which it was made follows, where the app has one: clients show it for the next change. */
function templateDataOf(app: Fact, { env: _, ...rest }: AppChange, env: readonly EnvShown[] | undefined): MergePatch {
  const text = annotationOf(app, appAnnotations.templateData)
  if (text === '') return {}
  const data = { ...parsed(text), ...rest, ...(env && { env }) }
  return { metadata: { annotations: { [appAnnotations.templateData]: JSON.stringify(data) } } }
}

function parsed(text: string): JsonObject {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return {}
  }
}
