/**
 * The table of routes: where the requests of each app go, and who may send some. Controllers of apps write it, gateways read it.
 * If two apps have one id, the older one has the route.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { z } from 'zod'
import { type AppRoute, appPhases } from '../../base/app-route.ts'
import type { Keys } from '../keys.ts'
import { EntryTable, type PutAnswer, type TableConnection, type TableRead } from './entries.ts'

/** The rule of the name of an app: `app-<id>` fits a label. */
export const appId = z.string().regex(/^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$/)
const line = (most: number) =>
  z
    .string()
    .max(most)
    .refine(text => text.isWellFormed())
export const uidForm = z.string().regex(/^[-A-Za-z0-9]{1,64}$/)
export const whole = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER)

const audience = z.union([
  z.strictObject({ kind: z.literal('public') }),
  z.strictObject({ kind: z.literal('loggedIn') }),
  z.strictObject({ kind: z.literal('members') }),
])

const address = z.strictObject({
  ip: z.string().refine(ip => isIPv4(ip) || isIPv6(ip)),
  port: z.number().int().min(1).max(65_535),
})

export const routeSchema: z.ZodType<AppRoute> = z.strictObject({
  id: appId,
  uid: uidForm,
  createdMs: whole,
  generation: whole,
  namespace: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
  displayName: line(1_024),
  group: line(1_024),
  audience,
  phase: z.enum(appPhases),
  message: line(1_000),
  address: address.optional(),
  host: z.string().regex(/^[a-z0-9]([-a-z0-9.]{0,200}[a-z0-9])?(:\d{1,5})?$/),
  rewrite: z.boolean(),
  passHost: z.boolean(),
  passAuthorization: z.boolean(),
})

export interface RoutesRead extends Omit<TableRead<AppRoute>, 'entries'> {
  readonly routes: ReadonlyMap<string, AppRoute>
}

export class RouteStore {
  readonly #table: EntryTable<AppRoute>

  constructor(connection: TableConnection, keys: Keys) {
    this.#table = new EntryTable(connection, keys, {
      key: keys.apps.routes,
      what: 'routes',
      kind: 'app',
      prefers: 'oldest',
      schema: routeSchema,
      isOf: (id, route) => route.id === id,
    })
  }

  /**
   * Writes a route, and rings where it has changed. It is `older`, and nothing is written, where the standing one has a higher
   * generation of the same UID or is of an older app, or where this app was removed.
   * @throws {z.ZodError} when no reader would take the route
   * @throws {RetryLater} when Redis does not answer
   */
  put(route: AppRoute): Promise<PutAnswer> {
    return this.#table.put(route.id, route)
  }

  /**
   * Removes the route of an app that is gone, for good. Another app of the same id keeps its own.
   * @param lives the app is still there, and may have the route again, such as when its namespace serves a group again
   * @returns whether it had the route
   * @throws {RetryLater} when Redis does not answer
   */
  remove(id: string, uid: string, lives = false): Promise<boolean> {
    return this.#table.remove(id, uid, lives)
  }

  /** Says that every app that there is has its route here. Until then, gateways keep the routes that they had. */
  complete(): Promise<void> {
    return this.#table.complete()
  }

  /** @throws {RetryLater} when Redis does not answer */
  async read(): Promise<RoutesRead> {
    const { entries: routes, ...rest } = await this.#table.read()
    return { ...rest, routes }
  }

  /** @returns undefined for none, and for one that cannot be read */
  async readOne(id: string): Promise<AppRoute | undefined> {
    return (await this.#table.readSome([id])).entries.get(id)
  }

  /** For readers that follow it. */
  get table(): Pick<EntryTable<AppRoute>, 'read' | 'readSome' | 'version'> {
    return this.#table
  }
}
