import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt } from './command.ts'
import { marker, startTimeOf } from './process.ts'

// Lists everything that a run could leave on the machine, a line each: lists from before and after must be equal.
//   node scripts/run.mjs dev/process/machine.ts

/** Settings of the kubelet, and those that pods need: routing, and bridged packets visible to nftables. */
export const nodeSysctls = [
  'net.ipv4.ip_forward',
  'net.bridge.bridge-nf-call-iptables',
  'net.ipv6.conf.default.addr_gen_mode',
  'vm.overcommit_memory',
  'vm.panic_on_oom',
  'kernel.panic',
  'kernel.panic_on_oops',
  'kernel.keys.root_maxkeys',
  'kernel.keys.root_maxbytes',
]

/** Folders with names that are fixed in the kubelet, in containerd's shims and in the CNI library. */
export const fixedFolders = [
  '/var/lib/kubelet',
  '/var/lib/cni',
  '/var/log/containers',
  '/var/log/pods',
  '/run/containerd',
]

/** Names of network devices of test clouds begin with it. They come and go with tests of other runs. */
export const cloudLinks = 'skyc'

/** The bits of CAP_NET_ADMIN and CAP_SYS_ADMIN, which bridges and mounts need. */
const neededCapabilities = [12n, 21n]

/** The reason why this process can make no namespaces, bridges and mounts; null when it can. Changes nothing. */
export function whyNoNamespaces(): string | null {
  if (process.platform !== 'linux') return 'it needs Linux'
  if (process.getuid?.() !== 0) return 'it needs root'
  const status = readFileSync('/proc/self/status', 'utf8')
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`)
  const has = neededCapabilities.every(bit => ((capabilities >> bit) & 1n) === 1n)
  return has ? null : 'it needs the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN'
}

const programs =
  /^(etcd|kube-\S+|kubelet|kubectl|kwok|containerd\S*|ctr|runc|docker-registry|dockerd|docker-proxy|registry|redis-server|postgres|haproxy|coredns)$/

export const sysctlFile = (name: string): string => join('/proc/sys', name.replaceAll('.', '/'))

export function readSysctl(name: string): string | null {
  return readText(sysctlFile(name))?.trim() ?? null
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return null
  }
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder)
      .sort()
      .map(name => join(folder, name))
  } catch {
    return []
  }
}

/** The mount points, in the order of mounting. */
export function mountPoints(): string[] {
  const decode = (path: string) =>
    path.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)))
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n')
  return lines.map(line => decode(line.split(' ')[4]!))
}

const pids = () =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)

/** Processes in pods of this machine's node, by cgroup: containers do not inherit the marker. */
export function podProcesses(): number[] {
  return pids().filter(pid => isInPods(readText(`/proc/${pid}/cgroup`)) && startTimeOf(pid) !== null)
}

export const isInPods = (cgroups: string | null): boolean => /^\d+:[^:]*:\/kubepods/m.test(cgroups ?? '')

/** Whether a program of one of these names runs. */
export function isAnyRunning(names: string[]): boolean {
  return pids().some(pid => names.includes(readText(`/proc/${pid}/comm`)?.trim() ?? '') && startTimeOf(pid) !== null)
}

/** Processes of any run, and programs that runs use, whoever started them. */
function listProcesses(): string[] {
  const inPods = new Set(podProcesses())
  return pids().flatMap(pid => {
    if (pid === process.pid || startTimeOf(pid) === null) return []
    const name = readText(`/proc/${pid}/comm`)?.trim() ?? ''
    const isMarked = readText(`/proc/${pid}/environ`)?.includes(`${marker}=`) ?? false
    if (!isMarked && !inPods.has(pid) && !programs.test(name)) return []
    const command = readText(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ').trim() || name
    const container = /containerd-shim.* -id (\S+)/.exec(command)
    const line = `process    ${command.slice(0, 120)}`
    return container ? [line, `container  ${container[1]}`] : [line]
  })
}

function listNetworkNamespaces(): string[] {
  const named = listFolder('/run/netns').map(path => `netns      ${path}`)
  return [...named, `netns      ${countNetworkNamespaces()} in use by processes`]
}

/** Counts namespaces by the links that name them; an ended process has none. */
function countNetworkNamespaces(): number {
  const identities = pids().flatMap(pid => {
    try {
      return [readlinkSync(`/proc/${pid}/ns/net`)]
    } catch {
      return []
    }
  })
  return new Set(identities).size
}

const linesOf = (text: string | null) => (text ?? '').split('\n').filter(line => line.trim() !== '')

async function listNetwork(): Promise<string[]> {
  const [links, addresses, routes] = await Promise.all([
    attempt('ip', ['-o', 'link', 'show']),
    attempt('ip', ['-o', 'addr', 'show']),
    attempt('ip', ['route', 'show', 'table', 'all']),
  ])
  const isOfCloud = new RegExp(`\\b${cloudLinks}\\d`)
  return [
    ...linesOf(links).map(line => `link       ${/^\d+: ([^:@]+)/.exec(line)?.[1]}`),
    ...linesOf(addresses).map(line => `address    ${line.split(/\s+/).slice(1, 4).join(' ')}`),
    ...linesOf(routes).map(line => `route      ${line.trim()}`),
  ].filter(line => !isOfCloud.test(line))
}

/** Each rule with its table and chain, without counters. */
async function listRules(): Promise<string[]> {
  const found: string[] = []
  const context: string[] = []
  for (const line of linesOf(await attempt('nft', ['--stateless', 'list', 'ruleset']))) {
    const text = line.trim()
    if (text === '}') context.pop()
    else found.push(['nft       ', ...context, text.replace(/ \{$/, '')].join(' '))
    if (text.endsWith('{')) context.push(`${text.slice(0, -1).trim()}:`)
  }
  for (const tool of ['iptables', 'ip6tables']) {
    const rules = linesOf(await attempt(`${tool}-save`, [])).filter(line => /^(-A|:[A-Z]+-)/.test(line))
    found.push(...rules.map(line => `${tool.padEnd(11)}${line.replace(/ \[\d+:\d+\]$/, '')}`))
  }
  return found
}

/** cgroups of containers under each controller, a few levels deep. */
function listCgroups(): string[] {
  const folders = ['/sys/fs/cgroup'].flatMap(listFolder).flatMap(path => [path, ...listFolder(path)])
  return folders
    .filter(path => /\/(kubepods|cri-containerd|docker|skylab)/.test(path))
    .map(path => `cgroup     ${path}`)
}

/** Everything that a run could leave behind, sorted. `processes: false` omits processes, since other runs come and go. */
export async function listMachine({ processes = true } = {}): Promise<string[]> {
  const sysctls = nodeSysctls.map(name => `sysctl     ${name} = ${readSysctl(name) ?? '(none)'}`)
  const folders = fixedFolders.flatMap(folder => [...listFolder(folder), ...listFolder(folder).flatMap(listFolder)])
  return [
    ...(processes ? [...listProcesses(), ...listNetworkNamespaces()] : []),
    ...mountPoints().map(path => `mount      ${path}`),
    ...(await listNetwork()),
    ...(await listRules()),
    ...listCgroups(),
    ...sysctls,
    ...folders.map(path => `folder     ${path}`),
    ...fixedFolders.filter(folder => listFolder(join(folder, '..')).includes(folder)).map(path => `folder     ${path}`),
  ].sort()
}

/** The differences of two lists: `- line` was there before, `+ line` is there now. */
export function machineDifferences(before: string[], after: string[]): string[] {
  const gone = before.filter(line => !after.includes(line)).map(line => `- ${line}`)
  return [...gone, ...after.filter(line => !before.includes(line)).map(line => `+ ${line}`)]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(`${(await listMachine()).join('\n')}\n`)
}
