/** Checks of the block `network`, and warnings about everything that it permits. */
import { credentialRanges, isRangeWithin, privateRanges } from '../base/addresses.ts'
import type { Config } from '../config/schema.ts'

/** @returns one line for each range that no lab may reach */
export function networkProblems({ network: { egressRanges } }: Config): string[] {
  return egressRanges.flatMap((range, index) =>
    credentialRanges.some(kept => isRangeWithin(range, kept))
      ? [
          `network.egressRanges.${index}: serves credentials of a cloud, which labs never reach; use network.dns for names`,
        ]
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
          `network.clusterRanges: labs reach ${open.join(', ')}, which may contain nodes and other services, except for the listed ranges`,
        ]
      : []),
  ]
}

function peerWarnings(peer: 'proxy' | 'hub', network: Config['network']): string[] {
  const [namespace, ports] = [network[`${peer}Namespace`], network[`${peer}Ports`]]
  return [
    ...(namespace === undefined
      ? [`network.${peer}Namespace: is not set, so pods of any namespace with the labels of ${peer}Selector reach labs`]
      : []),
    ...(ports === undefined ? [`network.${peer}Ports: is not set, so labs reach all ports of these pods`] : []),
  ]
}
