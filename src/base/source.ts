/** The origin of a request: the connection's other end, and the addresses that trusted proxies report. */
import { BlockList, isIP } from 'node:net'

/** The origin of a request. */
export interface Source {
  /** The trusted address: of the connection, or as trusted proxies report it. */
  readonly address?: string | undefined
  /** The other end of the connection, if that is a proxy. */
  readonly proxy?: string | undefined
  /** Further addresses of X-Forwarded-For, the nearest first. Any client may have written them. */
  readonly claimed?: readonly string[] | undefined
}

/** More than any chain of proxies has; further addresses are not read. */
const maxHops = 16

/** Whether an address belongs to a trusted proxy. */
export type IsTrusted = (address: string) => boolean

/** @param ranges CIDRs, as the configuration has checked them */
export function trustIn(ranges: readonly string[]): IsTrusted {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', length] = range.split('/')
    list.addSubnet(address, Number(length), familyOf(address))
  }
  return address => list.check(address, familyOf(address))
}

/**
 * The first address from the right that is not a trusted proxy's is trusted, since a trusted proxy wrote it. Addresses
 * left of it may be forged.
 * @param forwarded X-Forwarded-For, to which each proxy appends the address of its client
 */
export function sourceOf(remote: string | undefined, forwarded: string | undefined, isTrusted: IsTrusted): Source {
  const peer = remote === undefined ? undefined : addressIn(remote)
  if (peer === undefined) return {}
  const hops = hopsOf(forwarded)
  let address = peer
  while (hops.length > 0 && isTrusted(address)) {
    const hop = addressIn(hops[0]!)
    if (hop === undefined) break
    address = hop
    hops.shift()
  }
  const claimed = hops.flatMap(hop => addressIn(hop) ?? [])
  return { address, ...(address !== peer && { proxy: peer }), ...(claimed.length > 0 && { claimed }) }
}

/** The nearest first. */
function hopsOf(forwarded: string | undefined): string[] {
  const parts = forwarded?.split(',') ?? []
  return parts
    .slice(-maxHops)
    .map(part => part.trim())
    .reverse()
}

/** An address in any form: alone, in brackets, with a port, or IPv4 within IPv6. Undefined for other texts. */
function addressIn(text: string): string | undefined {
  const bare = /^\[(.+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
  const address = bare.replace(/^::ffff:(?=[\d.]+$)/i, '')
  // A zone is not part of an address, and could contain any text.
  return isIP(address) !== 0 && !address.includes('%') ? address : undefined
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** Of IPv6, a client has as many addresses as it likes within the first 64 bits. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const before = head.split(':').filter(part => part !== '')
  const after = tail === undefined ? [] : tail.split(':').filter(part => part !== '')
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  const parts = [...before, ...zeros, ...after].slice(0, 4)
  return `${parts.map(part => Number.parseInt(part, 16).toString(16)).join(':')}::/64`
}
