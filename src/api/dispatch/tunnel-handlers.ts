/** The routes into running containers. What goes there is carried as it comes, at the replica that was asked. */
import type { IncomingMessage } from 'node:http'
import type { OpenAPIHono, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { trustIn } from '../../base/source.ts'
import type { TunnelTarget } from '../../dispatch/tunnel.ts'
import { shellOnly } from '../../tunnel/problems.ts'
import type { Passage } from '../../tunnel/tunnels.ts'
import type { Admission } from '../bounds/admit.ts'
import { bearerAlone } from '../request/bearer-alone.ts'
import type { ApiEnv } from '../request/env.ts'
import { methodNotAllowed, onInvalid } from '../request/errors.ts'
import { whence } from '../request/whence.ts'
import { audiences, type DispatchApiParts, type DispatchAudience, prefixes } from './parts.ts'
import { containerPath } from './schemas.ts'
import { portMethods, portPath, tunnelRoutes } from './tunnel-routes.ts'

/** The path in the container follows. */
const inContainer = /^(\/dispatch(?:\/admin)?\/v1\/containers\/[^/]+\/ports\/[^/]+)(.*)$/

/** Whether a request for another protocol is for a container. All others are answered in HTTP. */
export function mayUpgrade({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): boolean {
  const asked = headers.upgrade?.toLowerCase()
  const [, end] = /^\/dispatch\/(?:admin\/)?v1\/containers\/[^/]+\/(shell$|ports\/)/.exec(url) ?? []
  return (asked === 'ssh' && end === 'shell') || (asked === 'websocket' && end === 'ports/')
}

export class TunnelRoutes {
  readonly #app: OpenAPIHono<ApiEnv>
  readonly #parts: DispatchApiParts
  readonly #admit: Admission
  readonly #isTrusted: ReturnType<typeof trustIn>

  constructor(app: OpenAPIHono<ApiEnv>, parts: DispatchApiParts, admit: Admission) {
    this.#app = app
    this.#parts = parts
    this.#admit = admit
    this.#isTrusted = trustIn(parts.config.audit.trustedProxies)
  }

  add(): void {
    for (const audience of audiences) this.#addFor(audience)
  }

  #addFor(audience: DispatchAudience): void {
    const app = this.#app
    const admitted = [bearerAlone, audience === 'user' ? this.#admit.asUser : this.#admit.asAdmin] as const
    const { shell, ports } = tunnelRoutes(audience, this.#parts.config)
    const path = `${prefixes[audience]}/containers/:uuid`
    for (const each of [shell, ...ports]) app.openAPIRegistry.registerPath(each)
    app.post(`${path}/shell`, ...admitted, c => this.#shell(c, audience))
    app.all(`${path}/shell`, methodNotAllowed(['POST']))
    for (const end of ['/ports/:port', '/ports/:port/:path{.*}']) {
      app.on([...portMethods], `${path}${end}`, ...admitted, c => this.#port(c, audience))
      app.all(`${path}${end}`, methodNotAllowed(portMethods))
    }
  }

  async #shell(c: Context<ApiEnv>, audience: DispatchAudience): Promise<Response> {
    const { uuid } = checked(containerPath, c)
    const { carried, incoming } = c.env
    if (!carried?.upgrade || !incoming) throw shellOnly()
    const { socket, head } = carried.upgrade
    const passage = await this.#enter(c, audience, { uuid, target: 'ssh' })
    await this.#parts.carrier.shell({ incoming: incoming as never, passage }, socket, head)
    return taken(c)
  }

  async #port(c: Context<ApiEnv>, audience: DispatchAudience): Promise<Response> {
    const { uuid, port } = checked(portPath, c)
    const { carried, incoming, outgoing, head } = c.env
    const [, prefix = '', rest = ''] = inContainer.exec(head!.path) ?? []
    const path = `${rest || '/'}${head!.query === undefined ? '' : `?${head!.query}`}`
    const passage = await this.#enter(c, audience, { uuid, target: { port } })
    const load = { incoming: incoming as never, passage, port, path, prefix }
    if (carried?.upgrade) await this.#parts.carrier.upgrade(load, carried.upgrade.socket, carried.upgrade.head)
    else await this.#parts.carrier.request(load, outgoing as never)
    return taken(c)
  }

  async #enter(
    c: Context<ApiEnv>,
    audience: DispatchAudience,
    what: { readonly uuid: string; readonly target: TunnelTarget },
  ): Promise<Passage> {
    const asker = {
      ...{ caller: c.get('caller'), audience, from: whence(c, this.#isTrusted) },
      requestId: c.get('origin').requestId,
    }
    const mayStay = async () => (await this.#admit.again(c, audience)) !== undefined
    const passage = await this.#parts.tunnels.enter({ ...what, asker, mayStay })
    // What it waits for now is the container's, and `dispatch.tunnels.perUser` bounds it.
    c.get('endTurn')?.()
    return passage
  }
}

/** The answer was sent, or will be. */
function taken(c: Context<ApiEnv>): Response {
  c.env.carried!.isTaken = true
  return c.body(null, 200)
}

/** @throws {ApiError} 422 that names the part of the path */
function checked<T>(schema: z.ZodType<T>, c: Context<ApiEnv>): T {
  const result = schema.safeParse(c.req.param())
  if (result.success) return result.data
  onInvalid({ success: false, target: 'param', error: result.error })
  throw result.error
}
