/** The refusals of what people ask of running containers. */
import { ApiError } from '../base/errors.ts'
import type { TunnelFailed } from './dial.ts'

export const shellOff = (audience: 'user' | 'admin'): ApiError => {
  const key = audience === 'admin' ? 'Admin' : 'User'
  const msg = `shells and ports are switched off: dispatch.Containers.ShellAccess.${key}`
  return new ApiError(403, { msg, type: 'shell_off' })
}

export const tooManyTunnels = (): ApiError =>
  new ApiError(429, { msg: 'too many tunnels at once', type: 'too_many' }, { 'Retry-After': '1' })

/** The container was not reached, or gave no answer. */
export function unreached(failure: TunnelFailed | undefined): ApiError {
  const msg =
    failure?.why === 'refused'
      ? failure.message
      : failure?.why === 'stranger'
        ? 'what answers there is not the gateway of this container'
        : failure
          ? 'the machine of the container cannot be reached'
          : 'the container gave no answer that is HTTP'
  return new ApiError(502, { msg, type: 'unreachable' })
}

export const silent = (): ApiError =>
  new ApiError(504, { msg: 'the container did not answer in time', type: 'unreachable' })

export const unframed = (): ApiError =>
  new ApiError(501, {
    msg: 'the body has a coding that cannot be carried',
    type: 'malformed',
    loc: ['header', 'transfer-encoding'],
  })

export const shellOnly = (): ApiError =>
  new ApiError(
    426,
    { msg: 'a shell needs `Upgrade: ssh`', type: 'malformed', loc: ['header', 'upgrade'] },
    {
      ...{ Connection: 'Upgrade', Upgrade: 'ssh' },
    },
  )

export const badProtocol = (): ApiError =>
  new ApiError(400, { msg: 'a port speaks HTTP and WebSocket', type: 'malformed', loc: ['header', 'upgrade'] })
