/** Writes routes into Redis, as a turn of an app asks for it. */

import type { RouteWriter } from '../apps/kind.ts'
import type { AppRoute } from '../base/app-route.ts'
import { Fenced, RetryLater } from '../base/errors.ts'
import type { RouteStore } from '../store/apps/routes.ts'

export interface RouteWriterOptions {
  readonly store: Pick<RouteStore, 'put' | 'readOne' | 'remove'>
  /**
   * Whether there is no such app any more, as the API server itself says.
   * @throws {RetryLater} when it does not answer
   */
  readonly isGone: (namespace: string, id: string, uid: string, signal?: AbortSignal) => Promise<boolean>
  /** A present route may belong to nobody: a compare finds out. */
  readonly onDoubt: () => void
}

export function routeWriter({ store, isGone, onDoubt }: RouteWriterOptions): RouteWriter {
  const put = async (route: AppRoute) => {
    if ((await store.put(route)) !== 'older') return
    const standing = await store.readOne(route.id)
    if (standing?.uid === route.uid) throw new Fenced('a route of a later generation is written')
    onDoubt()
    throw new RetryLater('the route of another app of this id stands')
  }
  return {
    put,
    withdraw: async route => {
      if ((await store.readOne(route.id))?.uid === route.uid) await put(route)
    },
    gone: async (namespace, id, signal) => {
      const standing = await store.readOne(id)
      if (standing?.namespace !== namespace) return
      if (await isGone(namespace, id, standing.uid, signal)) await store.remove(id, standing.uid)
    },
  }
}
