/** Enforces NetworkPolicies on the real node, which does not do so itself. */
import { readFileSync } from 'node:fs'
import { nodeName } from '../kube/credentials.ts'
import { attempt, run } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import { stopProcess } from '../process/process.ts'
import { startServer } from '../process/server.ts'
import { builtProgram } from '../setup/go.ts'
import { bridge } from './record.ts'

const name = 'kube-network-policies'

/** The kernel's queue in which packets wait for the program's verdict. Fixed: a machine has one real node at most. */
const queue = 24_488
const queueTable = '/proc/net/netfilter/nfnetlink_queue'

/** The used chains of the table `mangle`. */
export const policyHooks = ['FORWARD', 'INPUT']

/**
 * Each connection that a pod opens waits for a verdict in the table `mangle`, where a service's address is already that
 * of a pod. FORWARD has connections to another pod or outside, INPUT those to the machine itself. Connections that the
 * machine opens do not wait: the kubelet's probes must pass. The program would use rules of nftables instead, but passes
 * everything silently when the kernel lacks their queue (NFT_QUEUE). While nothing reads the queue, all packets wait.
 */
const rules = policyHooks.map(hook => {
  const fromPods = ['-i', bridge, '-m', 'conntrack', '--ctstate', 'NEW']
  return [hook, ...fromPods, '-j', 'NFQUEUE', '--queue-num', String(queue)]
})
const inMangle = (...args: string[]) => ['-t', 'mangle', ...args]

export interface EnforcerOptions {
  /** The folder of the cluster: the program ends with the cluster at the latest. */
  readonly stateDir: string
  /** Path of an administrator's kubeconfig. */
  readonly kubeconfig: string
  readonly signal?: AbortSignal | undefined
}

export interface Enforcer {
  /** Stops enforcing: all connections are allowed again. */
  stop(): Promise<void>
}

/** Enforces NetworkPolicies on the machine's real node; resolves when they apply to every new connection. */
export async function enforcePolicies({ stateDir, kubeconfig, signal }: EnforcerOptions): Promise<Enforcer> {
  const args = [
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${nodeName}`,
    `--nfqueue-id=${queue}`,
    `--metrics-bind-address=127.0.0.1:${await freePort()}`,
    // A connection without a verdict is refused.
    '--fail-open=false',
    // Leaves established connections and containerd's settings alone.
    '--strict-mode=false',
    '--disable-nri',
    '--netfilter-bug-1766-fix=false',
  ]
  const stop = async () => {
    await stopProcess(stateDir, name, 0)
    await removePolicyRules()
  }
  // The program of a killed test still reads the queue.
  await stop()
  try {
    // It opens the queue once it knows all pods, namespaces and policies.
    const answers = async () => isRead(readFileSync(queueTable, 'utf8'), queue)
    const spec = { name, command: builtProgram(name), args, stateDir }
    await startServer(spec, { answers, limitMs: 60_000, signal })
    await addPolicyRules()
    return { stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Whether a program takes whole packets (mode 2) from a queue, by the kernel's table of queues. */
export function isRead(table: string, number: number): boolean {
  return table.split('\n').some(line => {
    const [queueNumber, , , mode] = line.trim().split(/\s+/)
    return queueNumber === String(number) && mode === '2'
  })
}

/** Sends the packets that need a verdict to the queue. */
export async function addPolicyRules(): Promise<void> {
  for (const rule of rules) await run('iptables', inMangle('-I', ...rule))
}

/** Removes the rules of `addPolicyRules`, and the program's own when the kernel has them. */
export async function removePolicyRules(): Promise<void> {
  for (const [hook, ...rule] of rules) {
    // Only when the chain exists: iptables creates each table that it looks into.
    if (!(await attempt('nft', ['list', 'chain', 'ip', 'mangle', hook!]))) continue
    await attempt('iptables', inMangle('-D', hook!, ...rule))
  }
  await attempt('nft', ['delete', 'table', 'inet', name])
}
