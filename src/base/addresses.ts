/** Ranges of addresses, as CIDRs, and the ranges that labs must not reach. Pure. */
import { BlockList } from 'node:net'

/**
 * Addresses at which clouds serve the credentials of a node, or lead to them. No configuration opens one of these to a
 * lab. Nearly all clouds serve metadata at link-local addresses. The others are Azure's WireServer, Alibaba, Oracle,
 * AWS, Google and Scaleway, and 169.254.0.0/16 behind NAT64.
 */
export const credentialRanges: readonly string[] = [
  '169.254.0.0/16',
  '168.63.129.16/32',
  '100.100.100.200/32',
  '192.0.0.192/32',
  'fe80::/10',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:42::42/128',
  '64:ff9b::a9fe:0/112',
]

/** Private ranges, which pods, services, nodes and their neighbours have. By default labs cannot reach them. */
export const privateRanges: readonly string[] = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
]

export const isIpv6 = (range: string): boolean => range.includes(':')

/** Whether all addresses of `inner` are in `outer`. Both are CIDRs. */
export function isRangeWithin(inner: string, outer: string): boolean {
  if (isIpv6(inner) !== isIpv6(outer)) return false
  const [[address, length], [net, prefix]] = [partsOf(inner), partsOf(outer)]
  if (length < prefix) return false
  const family = isIpv6(outer) ? 'ipv6' : 'ipv4'
  const list = new BlockList()
  list.addSubnet(net, prefix, family)
  return list.check(address, family)
}

function partsOf(range: string): [address: string, length: number] {
  const [address = '', length = ''] = range.split('/')
  return [address, Number(length)]
}
