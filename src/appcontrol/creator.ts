/**
 * Makes apps of templates. The id is the key of a repeat: the same wish again is answered with the app that is there. The app is
 * made first, since its Secret needs its UID; a repeat makes the Secret that a replica which died has not made.
 */

import { randomBytes } from 'node:crypto'
import { groupNameOf } from '../apps/spec.ts'
import { envOfSpec } from '../apps/template.ts'
import { appAnnotations, appParent } from '../apps/words.ts'
import { canonical } from '../base/canonical.ts'
import { invalid, unavailable } from '../base/errors.ts'
import { asObject, asText } from '../base/json.ts'
import { isNotFound, KubeError } from '../kube/errors.ts'
import type { Fact } from '../reconcile/types.ts'
import { type AppWish, type NewApp, newApp } from './creation.ts'
import { secretNameOf } from './env.ts'
import { idTaken, noInstanceType, notMember } from './problems.ts'
import type { AppSecrets } from './secrets.ts'
import { type AppSights, type Asker, annotationOf, holderOf, type IsMember, specOf } from './sights.ts'
import type { TemplateService } from './templates.ts'
import type { AppWriter, Made } from './writer.ts'

export interface CreatorOptions {
  readonly sights: Pick<AppSights, 'named' | 'groupOf'>
  readonly writer: Pick<AppWriter, 'create'>
  readonly secrets: Pick<AppSecrets, 'complete'>
  readonly templates: Pick<TemplateService, 'whole'>
  readonly isMember: IsMember
  /** The namespace of a group's apps; undefined if it can have none. */
  readonly namespaceOf: (group: string) => string | undefined
  /** `apps.instanceTypes` */
  readonly instanceTypes: Readonly<Record<string, unknown>>
  /** `lab.secretPatterns` */
  readonly secretPatterns: readonly string[]
}

export class AppCreator {
  readonly #options: CreatorOptions

  constructor(options: CreatorOptions) {
    this.#options = options
  }

  /**
   * @throws {ApiError} 403 for a caller who is no member of the group, 409 if another app has the id, 422 for an invalid wish, 503
   */
  async create(wish: AppWish, asker: Asker): Promise<Made> {
    const namespace = this.#namespace(wish, asker)
    const { secrets, sights, templates, instanceTypes, secretPatterns: patterns } = this.#options
    const { id, instanceType = '' } = wish
    if (instanceType !== '' && !Object.hasOwn(instanceTypes, instanceType))
      throw noInstanceType(Object.keys(instanceTypes))
    const template = templates.whole(wish.templateId)
    if (!template) throw invalid('there is no template of this id', 'body', 'templateId')
    const holder = holderOf([...sights.named(id)].filter(app => sights.groupOf(app) !== undefined))
    if (holder && holder.ref.namespace !== namespace) throw idTaken()
    const agent = `create user=${encodeURIComponent(asker.caller.username)}`
    const suffix = randomBytes(8).toString('hex')
    const app = newApp(wish, template, { id, patterns, suffix })
    const made = await this.#made(wish, namespace, app, agent)
    // The Secret that it names may be that of an earlier request.
    const named = made.isNew ? suffix : suffixIn(made.fact)
    if (named !== undefined)
      await secrets.complete(made.fact, { suffix: named, values: app.secrets, agent: `app=${id} ${agent}` })
    return made
  }

  /** @throws {ApiError} 403 before anything about the group is disclosed, 422 */
  #namespace({ groupName }: AppWish, { audience, caller }: Asker): string {
    const { isMember, namespaceOf } = this.#options
    if (audience === 'user' && !isMember(caller, groupName)) throw notMember(groupName, 'body', 'groupName')
    const namespace = namespaceOf(groupName)
    if (namespace === undefined) throw invalid('the group has no namespace for apps', 'body', 'groupName')
    return namespace
  }

  async #made({ id, groupName }: AppWish, namespace: string, app: NewApp, agent: string): Promise<Made> {
    const { spec, annotations } = app
    const object = { ...appParent, metadata: { name: id, namespace, annotations }, spec }
    try {
      const made = await this.#options.writer.create(object, agent)
      if (made.isNew || isSame(made.fact, groupName, annotations)) return made
    } catch (error) {
      throw isWithoutNamespace(error) ? unavailable('the namespace of the group is not there') : error
    }
    throw idTaken()
  }
}

/** It is not there yet, or it ends. */
const isWithoutNamespace = (error: unknown): boolean =>
  isNotFound(error) || (error instanceof KubeError && error.status === 403 && /being terminated/.test(error.message))

/**
 * Whether an app is as somebody wishes it, of the same template. Values of secrets are not compared: nobody may read them. Keys of its
 * Secret are places in the lists of the template: a repeat after a change of the template would write other values under them.
 */
function isSame(app: Fact, group: string, wished: NewApp['annotations']): boolean {
  if (app.deleting || groupNameOf(app) !== group) return false
  const isData = sameJson(annotationOf(app, appAnnotations.templateData), wished[appAnnotations.templateData]!)
  const template = [annotationOf(app, appAnnotations.template), wished[appAnnotations.template]!] as const
  return isData && sameJson(...(template.map(text => withoutSuffix(app.ref.name, text)) as [string, string]))
}

/** Each creation names its Secret anew. */
const withoutSuffix = (id: string, text: string): string =>
  text.replaceAll(new RegExp(`"${secretNameOf(id, '')}[0-9a-f]{16}"`, 'g'), '""')

function sameJson(one: string, other: string): boolean {
  try {
    return canonical(JSON.parse(one)) === canonical(JSON.parse(other))
  } catch {
    return false
  }
}

/** The end of the name of the Secret that an app refers to. */
function suffixIn(app: Fact): string | undefined {
  const start = secretNameOf(app.ref.name, '')
  const names = envOfSpec(specOf(app)).map(({ valueFrom }) => asText(asObject(asObject(valueFrom).secretKeyRef).name))
  return names.find(name => name.startsWith(start))?.slice(start.length)
}
