/** Who may connect to a lab, and where it may connect to (SQR-066, "Network policy"). Pure. */
import type { Config } from '../config/schema.ts'
import { labPort } from './env.ts'

type Network = Config['network']

/** Never reached from labs: a cloud's metadata, with the credentials of the node, answers there. */
const linkLocal4 = '169.254.0.0/16'
const linkLocal6 = 'fe80::/10'

/**
 * The `spec` of a lab's NetworkPolicy: in from proxy and hub alone; out to names, to what is no part of the cluster, to
 * proxy, hub and the configured ranges.
 */
export function networkPolicySpec(network: Network, podLabels: Readonly<Record<string, string>>): object {
  const own = [peer(network.proxySelector), peer(network.hubSelector)]
  return {
    podSelector: { matchLabels: podLabels },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: own, ports: [{ protocol: 'TCP', port: labPort }] }],
    egress: [
      { ports: ['UDP', 'TCP'].map(protocol => ({ protocol, port: 53 })) },
      { to: [...outside(network.clusterRanges), ...own, ...network.egressRanges.map(cidr => ({ ipBlock: { cidr } }))] },
    ],
  }
}

/** Proxy and hub need not stand in our own namespace. */
function peer(matchLabels: Readonly<Record<string, string>>): object {
  return { namespaceSelector: {}, podSelector: { matchLabels } }
}

function outside(clusterRanges: readonly string[]): object[] {
  const [six, four] = [true, false].map(wanted => clusterRanges.filter(range => range.includes(':') === wanted))
  return [
    { ipBlock: { cidr: '0.0.0.0/0', except: [...four!, linkLocal4] } },
    { ipBlock: { cidr: '::/0', except: [...six!, linkLocal6] } },
  ]
}
