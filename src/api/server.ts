/** Serves the API for labs on a port. */
import { createApi } from './app.ts'
import { type ApiServer, type ListenParts, listenApi } from './connections/listen.ts'
import type { Feature } from './feature.ts'
import type { ApiParts } from './request/env.ts'

export type { ApiServer } from './connections/listen.ts'

export type ServerParts = Omit<ApiParts, 'draining'> &
  Pick<ListenParts, 'tls'> & {
    /** Default: none. */
    readonly more?: readonly Feature[]
  }

/** Listens on `config.api.host` and `.port`. Rejects if the port is not available. */
export const startApiServer = (parts: ServerParts): Promise<ApiServer> =>
  listenApi(parts, draining => createApi({ ...parts, draining }, parts.more))
