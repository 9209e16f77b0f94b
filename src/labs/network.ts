/** The peers that may connect to a lab, and that it may connect to (SQR-066, "Network policy"). Pure. */
import { credentialRanges, isIpv6, isRangeWithin } from '../base/addresses.ts'
import type { Config } from '../config/schema.ts'
import { appPods } from '../kube/labels.ts'
import { labPort } from './env.ts'
import { podLabels } from './objects.ts'

type Network = Config['network']
type Labels = Readonly<Record<string, string>>

/** The labels of the controller's pods (`k8s/base/deployment.yaml`). */
export const controllerLabels = { 'app.kubernetes.io/name': 'skylab', 'app.kubernetes.io/component': 'controller' }

/** Specs by configuration and namespace: no lab changes them, and making one takes half the time of all objects of a lab. */
const specs = new WeakMap<Network, Map<string | undefined, object>>()

/**
 * The `spec` of a lab's NetworkPolicy, made once for each configuration. In: proxy and hub only, and the controller if it
 * asks labs whether they are used. Out: the cluster's DNS,
 * addresses outside the cluster, proxy, hub and the configured ranges. Addresses that serve credentials of a cloud are
 * always excluded. With `appsOfGroups` the pods of apps too, which decide by the labels of the lab's pod.
 * @param asker namespace of the controller that asks; undefined: none does
 */
export function networkPolicySpec(network: Network, asker?: string): object {
  const known = specs.get(network) ?? new Map<string | undefined, object>()
  const spec = known.get(asker) ?? specOf(network, asker)
  specs.set(network, known.set(asker, spec))
  return spec
}

function specOf(network: Network, asker: string | undefined): object {
  const proxy = peer(network.proxySelector, network.proxyNamespace)
  const hub = peer(network.hubSelector, network.hubNamespace)
  const controller = asker === undefined ? [] : [peer(controllerLabels, asker)]
  const ranges = [...outside(network.clusterRanges), ...network.egressRanges.flatMap(within)]
  return {
    podSelector: { matchLabels: podLabels },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [proxy, hub, ...controller], ports: [{ protocol: 'TCP', port: labPort }] }],
    egress: [
      ...names(network.dns),
      // An empty list would allow everything.
      ...(ranges.length > 0 ? [{ to: ranges }] : []),
      { to: [proxy], ...portsOf(network.proxyPorts) },
      { to: [hub], ...portsOf(network.hubPorts) },
      ...(network.appsOfGroups ? [{ to: [peer(appPods, undefined)] }] : []),
    ],
  }
}

/** Without a namespace: pods of every namespace. */
function peer(matchLabels: Labels, namespace: string | undefined): object {
  const namespaceLabels = namespace === undefined ? {} : { matchLabels: { 'kubernetes.io/metadata.name': namespace } }
  return { namespaceSelector: namespaceLabels, podSelector: { matchLabels } }
}

function portsOf(ports: readonly number[] | undefined): object {
  return ports === undefined ? {} : { ports: ports.map(port => ({ protocol: 'TCP', port })) }
}

function names({ namespace, selectors, port, addresses }: Network['dns']): object[] {
  const both = (number: number) => ['UDP', 'TCP'].map(protocol => ({ protocol, port: number }))
  return [
    { to: selectors.map(labels => peer(labels, namespace)), ports: both(port) },
    ...(addresses.length > 0 ? [{ to: addresses.map(cidr => ({ ipBlock: { cidr } })), ports: both(53) }] : []),
  ]
}

/** All addresses except those of the cluster. */
function outside(clusterRanges: readonly string[]): object[] {
  return ['0.0.0.0/0', '::/0'].flatMap(all => {
    const ranges = clusterRanges.filter(range => isIpv6(range) === isIpv6(all))
    // Kubernetes refuses an exception that covers the whole block.
    return ranges.some(range => isRangeWithin(all, range)) ? [] : block(all, ranges)
  })
}

/** Excludes the ranges that `skylab check` refuses here too. */
function within(cidr: string): object[] {
  return credentialRanges.some(range => isRangeWithin(cidr, range)) ? [] : block(cidr)
}

function block(cidr: string, ranges: readonly string[] = []): object[] {
  const except = [...ranges, ...credentialRanges.filter(range => isRangeWithin(range, cidr))]
  return [{ ipBlock: { cidr, ...(except.length > 0 && { except }) } }]
}
