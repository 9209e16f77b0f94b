/** The routes of activity. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { WorkloadKind } from '../../config/idle.ts'
import type { Kept, NotKept, Policy, Whose, WorkloadPage } from '../../idle/rest/service.ts'
import type { Workload } from '../../idle/workloads/workload.ts'
import type { Admission } from '../bounds/admit.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { methodNotAllowed } from '../request/errors.ts'
import type { EventStreams } from '../sse/streams.ts'
import { keepDraft } from './audit.ts'
import { type ActivityParts, type Audience, audiences, pathOf, prefixes, workloadIn } from './parts.ts'
import { notKept, noWorkload } from './problems.ts'
import { eventsRoute, listRoutes, policyRoute, workloadRoutes } from './routes.ts'

type Parts = ActivityParts & Pick<CommonParts, 'config'>
type Params = Readonly<Record<string, string>>

export class ActivityRoutes {
  readonly #app: OpenAPIHono<ApiEnv>
  readonly #parts: Parts
  readonly #admit: Admission
  readonly #streams: EventStreams
  readonly #admitted: Readonly<Record<Audience, Admission['asUser']>>

  constructor(app: OpenAPIHono<ApiEnv>, parts: Parts, admit: Admission, streams: EventStreams) {
    this.#app = app
    this.#parts = parts
    this.#admit = admit
    this.#streams = streams
    this.#admitted = { user: admit.asUser, admin: admit.asAdmin, lab: admit.asLab(parts.verifyLab) }
  }

  /** Adds all of them. Those that labs use are there only if this process has labs. */
  add(): void {
    const { kinds } = this.#parts.activity
    const hasLabs = kinds.includes('lab')
    for (const audience of audiences) {
      if (audience === 'lab' && !hasLabs) continue
      this.#addEvents(audience)
      for (const kind of audience === 'lab' ? (['lab'] as const) : kinds) this.#addWorkload(audience, kind)
    }
    for (const kind of kinds) this.#addLists(kind)
    this.#addPolicy()
  }

  #addWorkload(audience: Audience, kind: WorkloadKind): void {
    const { activity, config } = this.#parts
    const { asChange, body } = this.#admit
    const admitted = this.#admitted[audience]
    const routes = workloadRoutes(audience, kind, config)
    const app = this.#app

    app.openapi({ ...routes.state, middleware: [admitted] as const }, async c => {
      const workload = this.#workload(audience, kind, c.req.valid('param') as Params, c.get('caller').username)
      const found = await activity.find(workload)
      if (!found) throw noWorkload()
      return c.json(found as never, 200)
    })

    app.openapi({ ...routes.push, middleware: [admitted, asChange] as const }, async c => {
      const workload = this.#workload(audience, kind, c.req.valid('param') as Params, c.get('caller').username)
      done(await activity.push(workload))
      return c.body(null, 204)
    })

    app.openapi({ ...routes.keep, middleware: [admitted, asChange, body] as const }, async c => {
      const workload = this.#workload(audience, kind, c.req.valid('param') as Params, c.get('caller').username)
      const kept = done<Kept>(await activity.keep(workload, c.req.valid('json').seconds))
      keepDraft(c)?.kept(kept.until)
      return c.json(kept as never, 200)
    })

    app.openapi({ ...routes.release, middleware: [admitted] as const }, async c => {
      const workload = this.#workload(audience, kind, c.req.valid('param') as Params, c.get('caller').username)
      done(await activity.release(workload))
      return c.body(null, 204)
    })

    this.#refuseOthers(routes.state.path, ['GET', 'HEAD'])
    this.#refuseOthers(routes.push.path, ['POST'])
    this.#refuseOthers(routes.keep.path, ['POST', 'DELETE'])
  }

  #addEvents(audience: Audience): void {
    const route = eventsRoute(audience, this.#parts.config)
    this.#app.openapi({ ...route, middleware: [this.#admitted[audience]] as const }, c => {
      const { username } = c.get('caller')
      const lastEventId = c.req.valid('header')['last-event-id']
      return this.#streams.answer(c, {
        username,
        open: signal => this.#parts.activity.events(whoseOf(audience, username), lastEventId, signal),
        missing: noWorkload,
      })
    })
    this.#refuseOthers(route.path, ['GET', 'HEAD'])
  }

  #addLists(kind: WorkloadKind): void {
    const { activity, config } = this.#parts
    const routes = listRoutes(kind, config)
    const { asAdmin } = this.#admit
    this.#app.openapi({ ...routes.first, middleware: [asAdmin] as const }, async c => {
      return c.json(pageJson(kind, await activity.list(kind, undefined)) as never, 200)
    })
    this.#app.openapi({ ...routes.next, middleware: [asAdmin] as const }, async c => {
      const { id } = workloadIn(kind, c.req.valid('param') as Params)
      return c.json(pageJson(kind, await activity.list(kind, id)) as never, 200)
    })
    this.#refuseOthers(routes.first.path, ['GET', 'HEAD'])
    this.#refuseOthers(routes.next.path, ['GET', 'HEAD'])
  }

  #addPolicy(): void {
    const route = policyRoute(this.#parts.config)
    this.#app.openapi({ ...route, middleware: [this.#admit.asAdmin] as const }, c =>
      c.json(policyJson(this.#parts.activity.policy()) as never, 200),
    )
    this.#refuseOthers(route.path, ['GET', 'HEAD'])
  }

  #refuseOthers(path: string, allowed: readonly string[]): void {
    this.#app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), methodNotAllowed(allowed))
  }

  /** @throws {ApiError} 404 if it is another user's: admission checks that of labs alone */
  #workload(audience: Audience, kind: WorkloadKind, params: Params, username: string): Workload {
    const workload = workloadIn(kind, params)
    if (audience === 'user' && this.#parts.activity.ownerOf(workload) !== username) throw noWorkload()
    return workload
  }
}

/** @throws {ApiError} if nothing was noted */
function done<T>(outcome: T | NotKept): T {
  if (isNotKept(outcome)) throw notKept(outcome)
  return outcome
}

const isNotKept = (outcome: unknown): outcome is NotKept =>
  outcome === 'stopping' || outcome === 'none' || outcome === 'off'

function whoseOf(audience: Audience, username: string): Whose {
  if (audience === 'admin') return 'everybody'
  return audience === 'lab' ? { lab: username } : { user: username }
}

const pageJson = (kind: WorkloadKind, { workloads, after }: WorkloadPage) => ({
  workloads,
  ...(after !== undefined && { next: `${prefixes.admin}/after${pathOf({ kind, id: after })}` }),
})

function policyJson({ rules, ...policy }: Policy) {
  return {
    ...policy,
    rules: rules.map(
      ({ name, match, sources, idleTimeoutSeconds, maxAgeSeconds, warnSeconds, keepAlive, unreachable }) => ({
        ...{ name, match, sources, warnSeconds, keepAliveMaxSeconds: keepAlive.maxSeconds, unreachable },
        ...(idleTimeoutSeconds !== undefined && { idleTimeoutSeconds }),
        ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
      }),
    ),
  }
}
