/** The routes of apps. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { noApp } from '../../appcontrol/problems.ts'
import type { Asker } from '../../appcontrol/service.ts'
import type { AppVersion } from '../../appcontrol/view.ts'
import { ApiError } from '../../base/errors.ts'
import { noWorkload } from '../activity/problems.ts'
import type { Admission } from '../bounds/admit.ts'
import { bearerAlone } from '../request/bearer-alone.ts'
import type { ApiEnv } from '../request/env.ts'
import { methodNotAllowed } from '../request/errors.ts'
import { withQuery } from '../request/query.ts'
import { EventStreams } from '../sse/streams.ts'
import { appDraft } from './audit.ts'
import { type AppAudience, type AppsApiParts, audiences } from './parts.ts'
import { changeRoutes, readRoutes, sessionsRoute } from './routes.ts'

export class AppRoutes {
  readonly #app: OpenAPIHono<ApiEnv>
  readonly #parts: AppsApiParts
  readonly #admit: Admission
  readonly #streams: EventStreams

  constructor(app: OpenAPIHono<ApiEnv>, parts: AppsApiParts, admit: Admission) {
    this.#app = app
    this.#parts = parts
    this.#admit = admit
    this.#streams = new EventStreams(parts)
  }

  add(): void {
    for (const audience of audiences) {
      this.#addReads(audience)
      this.#addEvents(audience)
      this.#addChanges(audience)
    }
    this.#addSessions()
  }

  #admitted(audience: AppAudience): [typeof bearerAlone, Admission['asUser']] {
    return [bearerAlone, audience === 'user' ? this.#admit.asUser : this.#admit.asAdmin]
  }

  #addReads(audience: AppAudience): void {
    const { apps, activity, config } = this.#parts
    const app = this.#app
    const admitted = this.#admitted(audience)
    const asks = askerOf(audience)
    const routes = readRoutes(audience, config)

    app.openapi({ ...routes.list, middleware: [...admitted, withQuery] as const }, c =>
      c.json(apps.list(asks(c), c.req.valid('query')) as never, 200),
    )
    app.openapi({ ...routes.detail, middleware: admitted }, c =>
      versioned(c, apps.find(c.req.valid('param').id, asks(c)), 200),
    )
    app.openapi({ ...routes.pods, middleware: admitted }, c =>
      c.json({ pods: [...apps.pods(c.req.valid('param').id, asks(c))] } as never, 200),
    )
    this.#refuseOthers(routes.pods.path, ['GET', 'HEAD'])
    if (!activity) return
    app.openapi({ ...routes.activity, middleware: admitted }, async c => {
      const { detail } = apps.find(c.req.valid('param').id, asks(c))
      const found = await activity.find({ kind: 'app', id: detail.id })
      if (!found) throw noWorkload()
      return c.json(found as never, 200)
    })
    this.#refuseOthers(routes.activity.path, ['GET', 'HEAD'])
  }

  #addEvents(audience: AppAudience): void {
    const { apps, config } = this.#parts
    const route = readRoutes(audience, config).events
    const asks = askerOf(audience)
    this.#app.openapi({ ...route, middleware: this.#admitted(audience) }, c => {
      const { id } = c.req.valid('param')
      const lastEventId = c.req.valid('header')['last-event-id']
      return this.#streams.answer(c, {
        username: c.get('caller').username,
        open: signal => apps.events(id, asks(c), lastEventId, signal),
        missing: noApp,
      })
    })
    this.#refuseOthers(route.path, ['GET', 'HEAD'])
  }

  #addChanges(audience: AppAudience): void {
    const { apps, config } = this.#parts
    const { asChange, asCreate, body } = this.#admit
    const app = this.#app
    const admitted = this.#admitted(audience)
    const asks = askerOf(audience)
    const routes = changeRoutes(audience, config)

    app.openapi({ ...routes.create, middleware: [...admitted, asCreate, body] as const }, async c => {
      const wish = c.req.valid('json')
      appDraft(c)?.names(wish.id)
      const made = await apps.create(wish, asks(c))
      return versioned(c, made, made.isNew ? 201 : 200)
    })
    app.openapi({ ...routes.change, middleware: [...admitted, body] as const }, async c => {
      const { id } = c.req.valid('param')
      return versioned(c, await apps.change(id, asks(c), c.req.valid('json'), c.req.valid('header')['if-match']), 202)
    })
    app.openapi({ ...routes.delete, middleware: admitted }, async c => {
      await apps.delete(c.req.valid('param').id, asks(c), c.req.valid('header')['if-match'])
      return c.body(null, 202)
    })
    for (const [route, stop] of [[routes.start, false] as const, [routes.stop, true] as const]) {
      app.openapi({ ...route, middleware: [...admitted, asChange] as const }, async c => {
        const { id } = c.req.valid('param')
        return versioned(c, await apps.stop(id, asks(c), stop, c.req.valid('header')['if-match']), 202)
      })
      this.#refuseOthers(route.path, ['POST'])
    }
    this.#refuseOthers(routes.create.path, ['GET', 'HEAD', 'POST'])
    this.#refuseOthers(routes.change.path, ['GET', 'HEAD', 'PATCH', 'DELETE'])
  }

  #addSessions(): void {
    const { revoke, config } = this.#parts
    const route = sessionsRoute(config)
    this.#app.openapi({ ...route, middleware: [...this.#admitted('admin'), withQuery] as const }, async c => {
      const { user, app: appId } = c.req.valid('query')
      const revocation = { ...(user !== undefined && { user }), ...(appId !== undefined && { appId }) }
      appDraft(c)?.revokes(revocation)
      if (user === undefined && appId === undefined) throw nobodyNamed()
      await revoke(revocation)
      return c.body(null, 202)
    })
    this.#refuseOthers(route.path, ['DELETE'])
  }

  #refuseOthers(path: string, allowed: readonly string[]): void {
    this.#app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), methodNotAllowed(allowed))
  }
}

const askerOf =
  (audience: AppAudience) =>
  (c: Context<ApiEnv>): Asker => ({ caller: c.get('caller'), audience })

const versioned = <Status extends 200 | 201 | 202>(c: Context<ApiEnv>, { detail, etag }: AppVersion, status: Status) =>
  c.json(detail as never, status, { ETag: etag })

const nobodyNamed = () => new ApiError(422, { msg: 'user, app or both are required', type: 'missing', loc: ['query'] })
