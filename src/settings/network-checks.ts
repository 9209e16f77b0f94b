/** Checks of the block `network`, and warnings about all that it leaves open. */
import { credentialRanges, isRangeWithin, privateRanges } from '../base/addresses.ts'
import type { Config } from '../config/schema.ts'

/** @returns one line for each range that no lab may reach */
export function networkProblems({ network: { egressRanges } }: Config): string[] {
  return egressRanges.flatMap((range, index) =>
    credentialRanges.some(kept => isRangeWithin(range, kept))
      ? [`network.egressRanges.${index}: serves credentials of a cloud, which labs never reach; names are network.dns`]
      : [],
  )
}

export function networkWarnings({ network }: Config): string[] {
  const open = privateRanges.filter(range => !network.clusterRanges.some(closed => isRangeWithin(range, closed)))
  return [
    ...peerWarnings('proxy', network),
    ...peerWarnings('hub', network),
    ...(open.length > 0
      ? [
          `network.clusterRanges: labs reach ${open.join(', ')}, where nodes and other services may be, but for what is listed`,
        ]
      : []),
  ]
}

function peerWarnings(who: 'proxy' | 'hub', network: Config['network']): string[] {
  const [namespace, ports] = [network[`${who}Namespace`], network[`${who}Ports`]]
  return [
    ...(namespace === undefined
      ? [`network.${who}Namespace: is not set, so pods of any namespace with the labels of ${who}Selector reach labs`]
      : []),
    ...(ports === undefined ? [`network.${who}Ports: is not set, so labs reach all ports of these pods`] : []),
  ]
}
