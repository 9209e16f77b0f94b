import { existsSync, writeFileSync } from 'node:fs'
import { serviceCidr } from '../kube/control-plane.ts'
import { attempt, run } from '../process/command.ts'
import { sysctlFile } from '../process/machine.ts'
import { policyHooks, removePolicyRules } from './network-policies.ts'
import { bridge } from './record.ts'

/** The node's address on the bridge: the API server listens here for pods and for the machine. */
export const nodeIp = '10.244.0.1'
export const podCidr = '10.244.0.0/24'

/** Settings for containerd's CNI plugins: a link to the bridge for each pod, and host ports. */
export function renderCniConfig(stateDir: string): string {
  const ipam = {
    type: 'host-local',
    dataDir: `${stateDir}/cni`,
    ranges: [[{ subnet: podCidr, gateway: nodeIp }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  const plugins = [
    // Hairpin: a pod can reach itself by its service's address.
    { type: 'bridge', bridge, isGateway: true, hairpinMode: true, ipMasq: false, ipam },
    { type: 'portmap', capabilities: { portMappings: true }, snat: true },
  ]
  return JSON.stringify({ cniVersion: '1.0.0', name: 'box', plugins }, null, 2)
}

const forwardRules = ['-i', '-o'].map(side => ['FORWARD', side, bridge, '-j', 'ACCEPT'])

/** Makes the bridge, with the node's address and a route for services, before the first pod needs it. */
export async function setUpNetwork(): Promise<void> {
  const ip = (...args: string[]) => run('ip', args)
  // Else the link of each pod brings an IPv6 address, and Chromium ends every request when an address comes or goes.
  const addresses = sysctlFile('net.ipv6.conf.default.addr_gen_mode')
  if (existsSync(addresses)) writeFileSync(addresses, '1')
  // Without a hardware address of its own it would take on that of each new port.
  await ip('link', 'add', bridge, 'address', '02:53:4b:59:00:01', 'type', 'bridge')
  await ip('addr', 'add', `${nodeIp}/24`, 'dev', bridge)
  await ip('link', 'set', bridge, 'up')
  // Lets the machine itself reach services.
  await ip('route', 'add', serviceCidr, 'dev', bridge, 'src', nodeIp)
  writeFileSync(sysctlFile('net.ipv4.ip_forward'), '1')
  // Without this an answer from pod to pod through a service would bypass nftables, and never arrive.
  writeFileSync(sysctlFile('net.bridge.bridge-nf-call-iptables'), '1')
  // A Docker daemon drops unknown packets. Only then: iptables leaves its tables behind.
  const forward = await attempt('nft', ['list', 'chain', 'ip', 'filter', 'FORWARD'])
  if (forward?.includes('policy drop')) {
    for (const rule of forwardRules) await run('iptables', ['-I', ...rule])
  }
}

/**
 * Removes the bridge (with its addresses and routes, and the pods' links) and the rules of kube-proxy, of host ports and
 * of the NetworkPolicies' program. `machineBefore` lists the tables of iptables that existed already.
 */
export async function tearDownNetwork(machineBefore: string[]): Promise<void> {
  await attempt('ip', ['link', 'del', bridge])
  if (await attempt('nft', ['list', 'chain', 'ip', 'filter', 'FORWARD'])) {
    for (const rule of forwardRules) await attempt('iptables', ['-D', ...rule])
  }
  await removePolicyRules()
  for (const [family, iptables] of [
    ['ip', 'iptables'],
    ['ip6', 'ip6tables'],
  ] as const) {
    await attempt('nft', ['delete', 'table', family, 'kube-proxy'])
    await removeHostPorts(family, iptables)
    for (const table of ['nat', 'filter', 'mangle']) await removeEmpty([family, table], machineBefore)
  }
  for (const hook of policyHooks) await removeEmpty(['ip', 'mangle', hook], machineBefore)
}

/** Chains of host ports remain after their last user. */
async function removeHostPorts(family: string, iptables: string): Promise<void> {
  if (!(await attempt('nft', ['list', 'table', family, 'nat']))) return
  const rules = ((await attempt(iptables, ['-t', 'nat', '-S'])) ?? '').split('\n')
  const calls = rules.filter(rule => rule.startsWith('-A ') && /-j CNI-/.test(rule))
  for (const call of calls) await attempt(iptables, ['-t', 'nat', '-D', ...splitRule(call).slice(1)])
  const chains = rules.flatMap(rule => /^-N (CNI-\S+)/.exec(rule)?.[1] ?? [])
  for (const flag of ['-F', '-X']) {
    for (const chain of chains) await attempt(iptables, ['-t', 'nat', flag, chain])
  }
}

/** The words of a rule as iptables prints it; comments with blanks are in quotes. */
export function splitRule(rule: string): string[] {
  const words = rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)
  return [...words].map(([, quoted, plain]) => quoted?.replace(/\\(.)/g, '$1') ?? plain!)
}

/**
 * Removes a table or a chain that did not exist before and is empty by now: iptables made it for this node's rules.
 * `path` is its family, its table and, for a chain, its name.
 */
async function removeEmpty(path: readonly string[], before: string[]): Promise<void> {
  const [family, table, chain] = path
  if (before.includes(`nft        table ${family} ${table}${chain ? `: chain ${chain}` : ''}`)) return
  const what = [chain ? 'chain' : 'table', ...path]
  const content = await attempt('nft', ['list', ...what])
  const isFrame = (line: string) => /^\s*(#|\}|table|chain|type|$)/.test(line)
  if (content?.split('\n').every(isFrame)) await attempt('nft', ['delete', ...what])
}
