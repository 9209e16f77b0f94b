/** The refusals of the routes of activity. */
import { ApiError } from '../../base/errors.ts'
import type { NotKept } from '../../idle/rest/service.ts'

export const noWorkload = (): ApiError =>
  new ApiError(404, { msg: 'nothing of this name runs', type: 'unknown_workload' })

const refusals: Readonly<Record<NotKept, () => ApiError>> = {
  none: noWorkload,
  stopping: () => new ApiError(409, { msg: 'it is being stopped', type: 'stopping' }),
  off: () =>
    new ApiError(403, { msg: 'its rule grants no keep-alive, or no rule ever stops it', type: 'keep_alive_off' }),
}

export const notKept = (why: NotKept): ApiError => refusals[why]()
