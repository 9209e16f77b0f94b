import { existsSync, readFileSync } from 'node:fs'
import { setUpNetwork } from '../node/network.ts'
import { bridge, forgetMachine, readNodeRecord, recordMachine } from '../node/record.ts'
import { tearDownNode } from '../node/teardown.ts'
import { cgroupsNamed } from '../process/cgroups.ts'
import { attempt } from '../process/command.ts'
import { type Lock, tryLock } from '../process/lock.ts'
import { isAnyRunning, isInPods, sysctlFile, whyNoNamespaces } from '../process/machine.ts'
import { isAbandoned, listRuns } from './runs.ts'
import { clusterFolder } from './teardown.ts'

/** Held while a real node is set up, used or torn down: a machine has one at most. Null when it is taken. */
export const lockRealNode = (): Promise<Lock | null> => tryLock('real node')

/** The reason why no real node can run on this machine; null when it can. Changes nothing. */
export function whyNoRealNode(): string | null {
  const reason = whyNoNamespaces()
  if (reason) return reason
  // Containers of the node are recognized by their cgroup: in a pod every process would look like one.
  if (isInPods(readFileSync('/proc/self/cgroup', 'utf8'))) return 'this is itself a pod'
  return null
}

/** The pid of the script that has the machine's real node, by the records of runs; null when there is none. */
export function realNodeHolder(runs = listRuns()): number | null {
  const holds = runs.find(run => readNodeRecord(clusterFolder(run.stateDir)) !== null && !isAbandoned(run))
  return holds?.owner.pid ?? null
}

/** The reason why a script cannot have a real node now; null when it can. Changes nothing. */
export function whyNoNodeNow(): string | null {
  const holder = realNodeHolder()
  return whyNoRealNode() ?? (holder === null ? null : anotherHasIt(holder))
}

const anotherHasIt = (pid: number | null) =>
  `another run has it${pid === null ? '' : ` (pid ${pid})`}, and there can be one to a machine`

const otherKubelets = ['kubelet', 'k3s', 'k3s-server', 'k3s-agent', 'k0s', 'kubelite']

export type NodeClaim = { lock: Lock; reason?: never } | { lock: null; reason: string }

/**
 * Takes the machine's one real node for this run and sets its network up, or returns the reason why not. Release the lock
 * after the teardown.
 */
export async function claimRealNode(stateDir: string): Promise<NodeClaim> {
  const reason = whyNoRealNode()
  if (reason) return { lock: null, reason }
  const lock = await lockRealNode()
  if (!lock) return { lock: null, reason: anotherHasIt(realNodeHolder()) }
  const refuse = async (why: string): Promise<NodeClaim> => {
    await lock.release()
    return { lock: null, reason: why }
  }
  if (existsSync(`/sys/class/net/${bridge}`)) return refuse(`the network device ${bridge} belongs to another program`)
  // The teardown ends all processes in pods, so there may be no pods of others.
  if (isAnyRunning(otherKubelets) || cgroupsNamed('kubepods').length > 0) return refuse('another kubelet runs here')
  if (await attempt('nft', ['list', 'table', 'ip', 'kube-proxy'])) return refuse('another kube-proxy runs here')
  await attempt('modprobe', ['br_netfilter'])
  if (!existsSync(sysctlFile('net.bridge.bridge-nf-call-iptables'))) return refuse('the kernel lacks br_netfilter')
  await recordMachine(stateDir)
  try {
    await setUpNetwork()
    return { lock }
  } catch (error) {
    // Now, not at the end of this run: by then another run may have the node.
    await tearDownNode(stateDir, readNodeRecord(stateDir)!)
    forgetMachine(stateDir)
    return refuse(`no network for pods: ${(error as Error).message}`)
  }
}
