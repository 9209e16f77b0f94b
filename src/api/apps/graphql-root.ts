/** What the fields of queries and mutations do: the same as the routes of REST. */

import { mostOfPart, type Span } from '../../appcontrol/selection.ts'
import type { Asker } from '../../appcontrol/service.ts'
import type { TemplateWish } from '../../appcontrol/templates.ts'
import { ApiError, invalid } from '../../base/errors.ts'
import { asObject, type JsonObject } from '../../base/json.ts'
import type { AuditAction, AuditObject } from '../../telemetry/audit.ts'
import type { UserRate } from '../bounds/rates.ts'
import { Inputs, plain } from './graphql-inputs.ts'
import { appNode, connectionNode, templateNode, type ViewParts } from './graphql-views.ts'
import { type AppsApiParts, logsPaths, prefixes } from './parts.ts'

/** One request: who asks, and what becomes of what is done. */
export interface GraphqlCall {
  readonly asker: Asker
  /** @throws {ApiError} 429 */
  charge(kind: UserRate): void
  /** Writes a line of the audit log. */
  audited<T>(action: AuditAction, object: AuditObject, act: () => T | Promise<T>): Promise<T>
}

type Arguments = { readonly where?: JsonObject; readonly data?: JsonObject } & JsonObject
type Field = (given: Arguments, call: GraphqlCall) => unknown

/** The root of an execution: a function for each field of `Query` and `Mutation`. */
export function graphqlRoot(parts: AppsApiParts): Readonly<Record<string, Field>> {
  const inputs = new Inputs(parts.config.api.limits)
  return { ...charged(queries(parts, inputs)), ...appMutations(parts, inputs), ...templateMutations(parts, inputs) }
}

function viewParts({ apps, config }: AppsApiParts, { asker }: GraphqlCall): ViewParts {
  const { instanceTypes, defaultInstanceType, publicUrl = '' } = config.apps
  const logs = `${publicUrl.replace(/\/$/, '')}${logsPaths[asker.audience]}`
  return {
    ...{ instanceTypes, defaultInstanceType },
    logEndpoint: pod => `${logs}/${pod}`,
    podsOf: id => apps.pods(id, asker),
  }
}

/** Each question of a query is a read. */
const charged = (fields: Readonly<Record<string, Field>>): Readonly<Record<string, Field>> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]): [string, Field] => [
      name,
      (given, call) => {
        call.charge('read')
        return field(given, call)
      },
    ]),
  )

function queries(parts: AppsApiParts, inputs: Inputs) {
  const { apps, templates } = parts
  return {
    phApplication: ({ where }, call) =>
      appNode(apps.find(inputs.appId(where), call.asker).detail, viewParts(parts, call)),
    phApplicationsConnection: ({ where, ...span }, call) => {
      const { id, groupName_in: groups, appName_contains: contained } = plain(where)
      const choice = {
        id: id === undefined ? undefined : inputs.appId({ id }),
        groups: groups as string[] | undefined,
        templateContains: contained as string | undefined,
      }
      return connectionNode(apps.select(call.asker, choice, spanOf(plain(span))), viewParts(parts, call))
    },
    phAppTemplate: ({ where }) => templateNode(templates.find(inputs.templateId(where)).detail),
    phAppTemplates: ({ where }) => {
      const { id, name_contains: contained = '' } = plain(where)
      if (id !== undefined) return [templateNode(templates.find(inputs.templateId({ id })).detail)]
      const { templates: all } = templates.list({ limit: mostOfPart })
      const named = all.filter(({ name }) => name.includes(String(contained)))
      return named.map(each => ({ ...each, template: () => templates.find(each.id).detail.template }))
    },
  } satisfies Record<string, Field>
}

/** @throws {ApiError} 422 */
function spanOf({ first, last, after, before }: JsonObject): Span {
  for (const [name, count] of Object.entries({ first, last })) {
    if (count !== undefined && !(Number(count) >= 0 && Number(count) <= mostOfPart))
      throw invalid(`is not a number from 0 to ${mostOfPart}`, 'query', name)
  }
  return { first, last, after, before } as Span
}

/** What a line of the audit log names, as it was sent: refused ones have lines too. No id is longer. */
const named = (kind: 'app' | 'template', sent: unknown): AuditObject => ({
  ...{ kind, name: String(asObject(sent).id).slice(0, 253) },
})

function appMutations(parts: AppsApiParts, inputs: Inputs) {
  const { apps } = parts
  const toggled = (stop: boolean) =>
    (({ where }, call) =>
      call.audited(stop ? 'app.stop' : 'app.start', named('app', where), async () => {
        const id = inputs.appId(where)
        call.charge('change')
        const { detail } = await apps.stop(id, call.asker, stop)
        return appNode(detail, viewParts(parts, call))
      })) satisfies Field
  return {
    createPhApplication: ({ data }, call) =>
      call.audited('app.create', named('app', data), async () => {
        call.charge('create')
        const { detail } = await apps.create(inputs.newApp(data), call.asker)
        return appNode(detail, viewParts(parts, call))
      }),
    updatePhApplication: ({ where, data }, call) =>
      call.audited('app.change', named('app', where), async () => {
        const [id, change] = [inputs.appId(where), inputs.change(data)]
        call.charge('change')
        const { detail } = await apps.change(id, call.asker, change)
        return appNode(detail, viewParts(parts, call))
      }),
    deletePhApplication: ({ where }, call) =>
      call.audited('app.delete', named('app', where), async () => {
        const id = inputs.appId(where)
        call.charge('change')
        const { detail } = await apps.delete(id, call.asker)
        return { ...appNode({ ...detail, phase: 'Stopping' }, viewParts(parts, call)), pods: [] }
      }),
    startPhApplication: toggled(false),
    stopPhApplication: toggled(true),
  } satisfies Record<string, Field>
}

function templateMutations({ templates }: AppsApiParts, inputs: Inputs) {
  const asAdmin =
    (
      action: AuditAction,
      idOf: (given: Arguments) => unknown,
      act: (id: string, given: Arguments, call: GraphqlCall) => unknown,
    ) =>
    (given: Arguments, call: GraphqlCall) => {
      const at = idOf(given)
      return call.audited(action, named('template', at), () => {
        call.charge('change')
        const id = inputs.templateId(at)
        if (call.asker.audience !== 'admin') throw forAdmins()
        return act(id, given, call)
      })
    }
  const byData = ({ data }: Arguments) => ({ id: data?.id })
  const byWhere = ({ where }: Arguments) => where
  return {
    createPhAppTemplate: asAdmin('template.put', byData, async (id, { data }, { asker }) => {
      const { id: _, ...wish } = plain(data)
      return templateNode((await templates.make(id, inputs.template(wish), asker.caller)).detail)
    }),
    updatePhAppTemplate: asAdmin('template.put', byWhere, async (id, { data }, { asker }) => {
      const { detail, etag } = await templates.read(id, asker.caller)
      const { id: _, createdAt: __, ...standing } = detail
      const wish: TemplateWish = inputs.template({ ...standing, ...plain(data) })
      // Else it could undo what somebody else has written meanwhile.
      return templateNode((await templates.put(id, wish, asker.caller, etag)).detail)
    }),
    deletePhAppTemplate: asAdmin('template.delete', byWhere, async (id, _, { asker }) =>
      templateNode((await templates.delete(id, asker.caller)).detail),
    ),
  } satisfies Record<string, Field>
}

const forAdmins = (): ApiError =>
  new ApiError(403, { msg: `templates are written at ${prefixes.admin}/graphql alone`, type: 'forbidden' })
