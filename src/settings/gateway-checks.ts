/** Checks of the block `gateway`, for a process that runs it. */
import { isLoopback } from '../base/loopback.ts'
import type { Config } from '../config/schema.ts'

/** A process for something else leaves the block alone. */
export const servesGateway = ({ run }: Pick<Config, 'run'>): boolean => run.includes('gateway')

/** @returns one line for each violated condition */
export function gatewayProblems({ gateway, identity, sealing }: Config): string[] {
  const { publicUrl, login, keyFiles } = gateway
  return [
    ...(publicUrl === undefined
      ? ['gateway.publicUrl: is required by a process that runs the gateway']
      : addressProblems(publicUrl)),
    ...(login === 'static' && identity.provider !== 'static'
      ? [`gateway.login: static takes the tokens of identity.static, and identity.provider is ${identity.provider}`]
      : []),
    // Whoever can open plans of labs would open what logins keep.
    ...keyFiles.flatMap((file, index) =>
      sealing.keyFiles.includes(file) ? [`gateway.keyFiles.${index}: is also a file of sealing.keyFiles`] : [],
    ),
  ]
}

function addressProblems(publicUrl: string): string[] {
  const url = new URL(publicUrl)
  const key = 'gateway.publicUrl'
  const isBare = url.origin === publicUrl || `${url.origin}/` === publicUrl
  return [
    ...(isBare ? [] : [`${key}: has more than scheme, host and port`]),
    // Browsers keep no cookie of the login there.
    ...(url.protocol === 'https:' || isLoopback(url.host) ? [] : [`${key}: is not https://, and not this machine`]),
  ]
}

/** @returns warnings: permitted settings that an operator should know about */
export function gatewayWarnings({ gateway, api }: Config): string[] {
  const { login, publicUrl, trustedProxies } = gateway
  return [
    ...(login === 'static' ? ['gateway.login: static is for demos and tests, never for real users'] : []),
    ...(publicUrl?.startsWith('http:') ? ['gateway.publicUrl: is http://, so everything can be read on its way'] : []),
    // An ingress is before almost every gateway.
    ...(trustedProxies.length === 0 && api.tls === undefined
      ? ['gateway.trustedProxies: is empty, so apps and logs see the address of the proxy for every visitor']
      : []),
  ]
}
