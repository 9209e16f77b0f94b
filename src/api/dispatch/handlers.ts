/** The routes of containers. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { noContainer } from '../../containers/problems.ts'
import type { ContainerAsker } from '../../containers/service.ts'
import { LogStreams } from '../apps/log-streams.ts'
import type { Admission } from '../bounds/admit.ts'
import type { LargeAnswers } from '../bounds/large-answers.ts'
import { bearerAlone } from '../request/bearer-alone.ts'
import type { ApiEnv } from '../request/env.ts'
import { methodNotAllowed } from '../request/errors.ts'
import { withQuery } from '../request/query.ts'
import { EventStreams } from '../sse/streams.ts'
import { dispatchDraft } from './audit.ts'
import { audiences, type DispatchApiParts, type DispatchAudience } from './parts.ts'
import { changeRoutes, readRoutes } from './routes.ts'

export class ContainerRoutes {
  readonly #app: OpenAPIHono<ApiEnv>
  readonly #parts: DispatchApiParts
  readonly #admit: Admission
  readonly #large: LargeAnswers
  readonly #streams: EventStreams
  readonly #logs: LogStreams

  constructor(app: OpenAPIHono<ApiEnv>, parts: DispatchApiParts, admit: Admission, large: LargeAnswers) {
    this.#app = app
    this.#parts = parts
    this.#admit = admit
    this.#large = large
    this.#streams = new EventStreams(parts)
    this.#logs = new LogStreams({ ...parts, appMetrics: parts.logMetrics })
  }

  add(): void {
    for (const audience of audiences) {
      this.#addReads(audience)
      this.#addFollowed(audience)
      this.#addChanges(audience)
    }
  }

  #admitted(audience: DispatchAudience): [typeof bearerAlone, Admission['asUser']] {
    return [bearerAlone, audience === 'user' ? this.#admit.asUser : this.#admit.asAdmin]
  }

  #addReads(audience: DispatchAudience): void {
    const { containers, config } = this.#parts
    const admitted = this.#admitted(audience)
    const asks = askerOf(audience)
    const routes = readRoutes(audience, config)

    this.#app.openapi({ ...routes.list, middleware: [...admitted, withQuery] as const }, async c => {
      const page = await containers.list(c.req.valid('query'), asks(c))
      return this.#large.answer(c, JSON.stringify(page)) as never
    })
    this.#app.openapi({ ...routes.detail, middleware: admitted }, async c =>
      c.json((await containers.find(c.req.valid('param').uuid, asks(c))) as never, 200),
    )
  }

  #addFollowed(audience: DispatchAudience): void {
    const { containers, config } = this.#parts
    const admitted = this.#admitted(audience)
    const asks = askerOf(audience)
    const routes = readRoutes(audience, config)

    this.#app.openapi({ ...routes.events, middleware: admitted }, c => {
      const { uuid } = c.req.valid('param')
      const lastEventId = c.req.valid('header')['last-event-id']
      return this.#streams.answer(c, {
        username: c.get('caller').username,
        open: signal => containers.events(uuid, asks(c), lastEventId, signal),
        missing: noContainer,
      })
    })
    this.#app.openapi({ ...routes.log, middleware: [...admitted, withQuery] as const }, async c => {
      const { follow } = c.req.valid('query')
      const { uuid } = c.req.valid('param')
      const log = await containers.log(uuid, follow !== undefined && follow !== 'false', asks(c))
      const mayRead = async () => (await this.#admit.again(c, audience)) !== undefined
      return (await this.#logs.answer(c, { app: uuid, open: signal => log.open(signal), mayRead })) as never
    })
    this.#refuseOthers(routes.events.path, ['GET', 'HEAD'])
    this.#refuseOthers(routes.log.path, ['GET', 'HEAD'])
  }

  #addChanges(audience: DispatchAudience): void {
    const { containers, config } = this.#parts
    const { body } = this.#admit
    const admitted = this.#admitted(audience)
    const asks = askerOf(audience)
    const routes = changeRoutes(audience, config)

    // Charged as a read: the queue is bounded itself, and people queue hundreds at once.
    this.#app.openapi({ ...routes.create, middleware: [...admitted, body] as const }, async c => {
      const made = await containers.create(c.req.valid('json'), asks(c), c.req.valid('header')['idempotency-key'])
      dispatchDraft(c)?.names(made.uuid)
      return c.json(made as never, 201)
    })
    this.#app.openapi({ ...routes.change, middleware: [...admitted, body] as const }, async c => {
      const { priority } = c.req.valid('json')
      return c.json((await containers.prioritise(c.req.valid('param').uuid, priority, asks(c))) as never, 202)
    })
    this.#app.openapi({ ...routes.cancel, middleware: admitted }, async c => {
      const by = audience === 'user' ? 'its owner' : 'an administrator'
      const cancelled = await containers.cancel(c.req.valid('param').uuid, `cancelled by ${by}`, asks(c))
      return c.json(cancelled as never, 202)
    })
    this.#refuseOthers(routes.create.path, ['GET', 'HEAD', 'POST'])
    this.#refuseOthers(routes.change.path, ['GET', 'HEAD', 'PATCH', 'DELETE'])
  }

  #refuseOthers(path: string, allowed: readonly string[]): void {
    this.#app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), methodNotAllowed(allowed))
  }
}

const askerOf =
  (audience: DispatchAudience) =>
  (c: Context<ApiEnv>): ContainerAsker => ({ caller: c.get('caller'), audience })
