/** DNS of the cluster for programs of this machine: a Hub and its proxy reach labs by name, as pods do. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cluster } from '../cluster/types.ts'
import { nodeIp } from '../node/network.ts'
import { freePort } from '../process/ports.ts'
import type { ProcessSpec } from '../process/process.ts'
import { startServer } from '../process/server.ts'
import type { Tools } from '../setup/setup.ts'

export interface Names {
  /** The same program, in a mount namespace that uses the cluster's DNS; the machine keeps its own. */
  within<Spec extends Pick<ProcessSpec, 'command' | 'args'>>(spec: Spec): Spec
}

export interface NamesOptions {
  readonly stateDir: string
  /** A cluster with a real node: only there services have addresses that can be reached. */
  readonly cluster: Pick<Cluster, 'kubeconfig'>
  readonly tools: Tools
  readonly signal?: AbortSignal | undefined
}

const corefile = (kubeconfig: string, readyPort: number) => `.:53 {
  bind ${nodeIp}
  errors
  ready 127.0.0.1:${readyPort}
  kubernetes cluster.local {
    kubeconfig ${kubeconfig}
  }
}
`

/** As in a pod, but without its namespace: <service>.<namespace> is found. */
const resolvConf = `nameserver ${nodeIp}
search svc.cluster.local cluster.local
options ndots:5
`

/** Mounts over the target, since /etc/resolv.conf can be a link. */
const enter = 'mount --bind "$1" "$(readlink -f /etc/resolv.conf)" && shift && exec "$@"'

/** Starts CoreDNS on the node's address; resolves when it knows all services. Ends with the run. */
export async function startNames({ stateDir, cluster, tools, signal }: NamesOptions): Promise<Names> {
  const name = 'names'
  const [config, resolver] = [join(stateDir, 'Corefile'), join(stateDir, 'resolv.conf')]
  const readyPort = await freePort()
  await writeFile(config, corefile(cluster.kubeconfig, readyPort))
  await writeFile(resolver, resolvConf)
  const spec = { name, command: tools.program('coredns'), args: ['-conf', config], stateDir }
  const answers = async () => (await fetch(`http://127.0.0.1:${readyPort}/ready`)).ok
  await startServer(spec, { answers, limitMs: 60_000, signal })
  const apart = ['--mount', '--propagation', 'private', 'sh', '-c', enter, 'sh', resolver]
  return { within: spec => ({ ...spec, command: 'unshare', args: [...apart, spec.command, ...spec.args] }) }
}
