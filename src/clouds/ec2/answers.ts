/** Translates errors of the client for callers. Pure. */
import { AtQuota, CloudRefused, IntentOver, NoCapacity, RateLimited, Unanswered } from '../errors.ts'

/** The request that an answer is about. */
export interface Asked {
  /** The name of EC2's action, such as RunInstances. */
  readonly action: string
  /** The type of a machine that is asked for. */
  readonly type?: string | undefined
  /** The quota that it counts to. */
  readonly group?: string | undefined
  /** Called once, when EC2 asks for fewer calls. @returns when the next may be sent */
  readonly throttled: () => number
}

const throttles = new Set([
  ...['RequestLimitExceeded', 'Throttling', 'ThrottlingException', 'ThrottledException', 'EC2ThrottledException'],
  ...['RequestThrottled', 'RequestThrottledException', 'TooManyRequestsException', 'SlowDown'],
])

const quotas = new Set([
  ...['VcpuLimitExceeded', 'InstanceLimitExceeded', 'MaxSpotInstanceCountExceeded', 'SpotInstanceCountLimitExceeded'],
  ...['NetworkInterfaceLimitExceeded', 'VolumeLimitExceeded', 'MaxIOPSLimitExceeded'],
])

/** They hold for one subnet or its zone: another one may have what is wanted. */
const shortages = new Set([
  ...['InsufficientInstanceCapacity', 'InsufficientHostCapacity', 'InsufficientReservedInstanceCapacity'],
  ...['InsufficientFreeAddressesInSubnet', 'InsufficientAddressCapacity', 'InsufficientVolumeCapacity'],
  ...['InsufficientCapacity', 'SpotMaxPriceTooLow', 'Unsupported'],
])

/** The request that came with this token is still carried out, or failed without an answer. */
const unanswered = new Set(['IdempotentInstanceCreationInProgress', 'ConcurrentRequest', 'RequestInProgress'])

const inWords: readonly (readonly [RegExp, string])[] = [
  [
    /^(AuthFailure|InvalidClientTokenId|SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken|UnrecognizedClient.*)$/,
    'the credentials are not valid',
  ],
  [/^(ExpiredToken.*|TokenRefreshRequired)$/, 'the credentials have expired'],
  [/^(RequestExpired|RequestTimeTooSkewed)$/, 'the clock of this machine is wrong'],
  [/^(UnauthorizedOperation|AccessDenied.*)$/, 'the credentials lack a permission'],
  [/^(OptInRequired|PendingVerification|Blocked)$/, 'the account may not do this'],
  [/^InvalidAMIID/, 'the image does not exist here'],
  [/^InvalidSubnet/, 'a subnet of SubnetID does not exist here'],
  [/^(InvalidGroup|InvalidSecurityGroup)/, 'a security group of SecurityGroupIDs does not exist here'],
  [/IamInstanceProfile|^InvalidIamInstanceProfile/i, 'the instance profile does not exist here'],
  [/^OperationNotPermitted$/, 'the machine is protected'],
  [
    /^(InvalidParameter|InvalidInput|MissingParameter|UnknownParameter|ValidationError|InvalidInstanceType)/,
    'a setting is wrong',
  ],
]

interface ClientError {
  readonly name: string
  readonly message: string
  readonly $metadata?: { readonly httpStatusCode?: number }
  /** Set on errors that the service answered. */
  readonly $fault?: 'client' | 'server'
}

/** The error for the caller. */
export function meaningOf(error: unknown, asked: Asked): Error {
  const { name, message, $metadata, $fault } = error as ClientError
  const words = `EC2 answers ${asked.action} with ${name}: ${briefly(message)}`
  const status = $metadata?.httpStatusCode ?? 0
  if (throttles.has(name) || status === 429) return new RateLimited(words, asked.throttled())
  if (quotas.has(name)) return new AtQuota(words, asked.group ?? '')
  if (shortages.has(name)) return new NoCapacity(words)
  if (name === 'IdempotentInstanceTerminated') return new IntentOver(words)
  if (name === 'CredentialsProviderError')
    return new CloudRefused(`there are no credentials for EC2: ${briefly(message)}`)
  // Without an answer of EC2: refused connections, resets, time-outs, certificates, answers of something else.
  if ($fault === undefined || status >= 500 || unanswered.has(name))
    return new Unanswered(`EC2 does not answer ${asked.action}: ${name}: ${briefly(message)}`)
  const reason = inWords.find(([form]) => form.test(name))?.[1]
  return new CloudRefused(reason === undefined ? words : `${reason}: ${words}`, name)
}

/** One line, without long words: those are encoded, and could have a secret. */
export function briefly(text: string | undefined): string {
  const line = (text ?? '').replaceAll(/[\p{Cc}\s]+/gu, ' ').replaceAll(/\S{64,}/g, '…')
  return line.length > 300 ? `${line.slice(0, 299)}…` : line
}
