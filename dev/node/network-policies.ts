/** NetworkPolicies enforced on the real node, which of itself has nobody who does. */
import { readFileSync } from 'node:fs'
import { nodeName } from '../kube/credentials.ts'
import { attempt, run } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import { stopProcess } from '../process/process.ts'
import { startServer } from '../process/server.ts'
import { builtProgram } from '../setup/go.ts'
import { bridge } from './record.ts'

const name = 'kube-network-policies'

/** The kernel's queue in which packets wait for the program's verdict. Fixed: there can be one real node to a machine. */
const queue = 24_488
const queueTable = '/proc/net/netfilter/nfnetlink_queue'

/** The chains of the table `mangle` that are used. */
export const policyHooks = ['FORWARD', 'INPUT']

/**
 * Each connection that a pod begins waits for a verdict, on its way to another pod or outside (FORWARD), or to the
 * machine itself (INPUT), in the table `mangle`: by then a service's address is that of a pod. What the machine begins
 * does not: nobody may refuse the kubelet's probes. The program would have rules of nftables instead, and lets all pass
 * without a word where the kernel has no queue for those (NFT_QUEUE). While nobody reads the queue all is held back.
 */
const rules = policyHooks.map(hook => {
  const fromPods = ['-i', bridge, '-m', 'conntrack', '--ctstate', 'NEW']
  return [hook, ...fromPods, '-j', 'NFQUEUE', '--queue-num', String(queue)]
})
const inMangle = (...args: string[]) => ['-t', 'mangle', ...args]

export interface EnforcerOptions {
  /** The folder of the cluster: the program ends with it at the latest. */
  readonly stateDir: string
  /** The path of an administrator's. */
  readonly kubeconfig: string
  readonly signal?: AbortSignal | undefined
}

export interface Enforcer {
  /** Lets all connections be again. */
  stop(): Promise<void>
}

/** Begins to enforce NetworkPolicies on the machine's real node; resolves when they hold for every new connection. */
export async function enforcePolicies({ stateDir, kubeconfig, signal }: EnforcerOptions): Promise<Enforcer> {
  const args = [
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${nodeName}`,
    `--nfqueue-id=${queue}`,
    `--metrics-bind-address=127.0.0.1:${await freePort()}`,
    // What it cannot decide is refused.
    '--fail-open=false',
    // Connections that stand already are left alone, and so are settings of containerd.
    '--strict-mode=false',
    '--disable-nri',
    '--netfilter-bug-1766-fix=false',
  ]
  const stop = async () => {
    await stopProcess(stateDir, name, 0)
    await removePolicyRules()
  }
  // One that a killed test left reads the queue still.
  await stop()
  try {
    // It opens the queue when it knows all pods, namespaces and policies.
    const answers = async () => isRead(readFileSync(queueTable, 'utf8'), queue)
    const spec = { name, command: builtProgram(name), args, stateDir }
    await startServer(spec, { answers, limitMs: 30_000, signal })
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

/** Sends to the queue what the program is to decide. */
export async function addPolicyRules(): Promise<void> {
  for (const rule of rules) await run('iptables', inMangle('-I', ...rule))
}

/** Takes away the rules of `addPolicyRules`, and those of the program's own where the kernel has them. */
export async function removePolicyRules(): Promise<void> {
  for (const [hook, ...rule] of rules) {
    // Only where there is something: iptables leaves behind what it looks into.
    if (!(await attempt('nft', ['list', 'chain', 'ip', 'mangle', hook!]))) continue
    await attempt('iptables', inMangle('-D', hook!, ...rule))
  }
  await attempt('nft', ['delete', 'table', 'inet', name])
}
