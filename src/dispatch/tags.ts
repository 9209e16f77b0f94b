/** The tags by which machines are known, and what the installation's token makes of them. Pure. */
import { createHmac, timingSafeEqual } from 'node:crypto'

export interface TagNames {
  /** The installation that owns a machine: only our own are ever touched. */
  readonly instanceSetId: string
  readonly instanceType: string
  readonly idleBehavior: string
  readonly instanceSecret: string
  /** The operation that made it. */
  readonly intent: string
  /** The key of its SSH server, once that was verified. */
  readonly hostKey: string
  /** The tenant that it counts for. */
  readonly tenant: string
  /** Before a key of the tenant's billing. */
  readonly billing: string
}

/** @param prefix `CloudVMs.TagKeyPrefix` */
export const tagNames = (prefix: string): TagNames => ({
  instanceSetId: `${prefix}InstanceSetID`,
  instanceType: `${prefix}InstanceType`,
  idleBehavior: `${prefix}IdleBehavior`,
  instanceSecret: `${prefix}InstanceSecret`,
  intent: `${prefix}Intent`,
  hostKey: `${prefix}HostKey`,
  tenant: `${prefix}Tenant`,
  billing: `${prefix}Billing-`,
})

/** Each use of a token has a key of its own, so that what one shows says nothing of the others. */
export const keyFor = (
  token: string,
  use: 'instance set' | 'instance secret' | 'warrant' | 'tunnel' | 'cloudtest set',
): Buffer => createHmac('sha256', token).update(`skylab dispatch ${use}`).digest()

/** The value of the tag `InstanceSetID`: it tells nothing of the token. */
export const instanceSetIdOf = (token: string): string => keyFor(token, 'instance set').toString('hex').slice(0, 40)

/** The same for machines of `skylab cloudtest`: no installation takes them for its own. */
export const cloudtestSetIdOf = (token: string): string => keyFor(token, 'cloudtest set').toString('hex').slice(0, 40)

/** The ids that are ours: that of the present token, which new machines get, and those of the ones before. */
export function instanceSetIds(token: string, previous: readonly string[]): readonly [string, ...string[]] {
  return [instanceSetIdOf(token), ...previous.map(instanceSetIdOf)]
}

const mark = 'hmac-sha256:'

/** Whether a tag has the HMAC of a secret, and not the secret. */
export const isMarkedSecret = (tag: string): boolean => tag.startsWith(mark)

/** The value of the tag `InstanceSecret`. @param mode `CloudVMs.TagSecret` */
export function secretTag(secret: string, token: string, mode: 'plain' | 'hmac'): string {
  if (mode === 'plain') return secret
  return `${mark}${createHmac('sha256', keyFor(token, 'instance secret')).update(secret).digest('hex')}`
}

/**
 * Whether a machine that shows this secret is the one with the tag. Both forms are taken, since a machine may be older than the
 * setting. An empty tag matches nothing.
 * @param tokens the present one, and those before
 */
export function matchesSecretTag(tag: string, secret: string, tokens: readonly string[]): boolean {
  if (tag === '' || secret === '') return false
  if (!isMarkedSecret(tag)) return isSame(tag, secret)
  return tokens.map(token => isSame(tag, secretTag(secret, token, 'hmac'))).includes(true)
}

/** Compares in a time that says nothing of where they differ. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map(text => createHmac('sha256', 'compare').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(a, b)
}
