import { postgresProgram } from '../postgres/postgres.ts'
import { attempt, findProgram } from '../process/command.ts'
import type { Progress } from '../process/progress.ts'
import { fakeTime } from '../redis/redis.ts'
import { browserName, type DebianPart, debianFile, debianProgram, installPackages, missingOf } from './debian.ts'
import { buildPrograms, builtProgram, type GoProgram, isBuilt, machineHasGo } from './go.ts'

/** A thing that a command uses; set-up installs what the needs name, and nothing else. */
export type Need =
  | 'redis'
  | 'postgres'
  | 'clocks'
  | 'curl'
  | 'browser'
  | 'balancer'
  | 'ingress'
  | 'kubectl'
  | 'kwok'
  | 'cluster'
  | 'node'
  | 'engine'
  | 'image'
  | 'builder'
  | 'names'
  | 'policies'
  | 'java'
  | 'prometheus'
  | 'python'
  | 'ssh'
  | 'machines'
  | 'vms'
  | 'containers'

/** Debian's Python makes no virtual environments without this package; other Pythons do. */
const pythonVenv: DebianPart = {
  name: 'python3-venv',
  isPresent: async () => (await attempt('python3', ['-c', 'import ensurepip, venv'])) !== null,
}

const debianParts: Record<Need, DebianPart[]> = {
  redis: [debianProgram('redis-server')],
  postgres: [{ name: 'postgresql', isPresent: () => postgresProgram('initdb') !== null }],
  clocks: [debianFile('faketime', fakeTime)],
  curl: [debianProgram('curl')],
  browser: [
    debianProgram(browserName),
    debianFile('fonts-dejavu-core', '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf'),
  ],
  balancer: [debianProgram('haproxy')],
  ingress: [debianProgram('nginx')],
  kubectl: [],
  kwok: [],
  cluster: [debianProgram('openssl')],
  node: [
    debianProgram('containerd'),
    debianProgram('runc'),
    debianFile('containernetworking-plugins', '/usr/lib/cni/bridge'),
    debianProgram('docker-registry'),
    debianProgram('catatonit'),
    debianProgram('nftables', 'nft'),
    debianProgram('iptables'),
    debianProgram('iproute2', 'ip'),
    debianProgram('kmod', 'modprobe'),
    debianProgram('procps', 'sysctl'),
  ],
  engine: [
    debianProgram('docker.io', 'dockerd'),
    debianProgram('iproute2', 'ip'),
    debianProgram('util-linux', 'unshare'),
    debianProgram('libc-bin', 'ldd'),
  ],
  image: [debianProgram('debootstrap'), debianProgram('curl'), debianFile('ca-certificates', '/etc/ssl/certs')],
  builder: [debianProgram('buildah')],
  names: [],
  policies: [],
  java: [debianProgram('default-jre-headless', 'java')],
  prometheus: [debianProgram('prometheus', 'promtool')],
  python: [debianProgram('python3'), pythonVenv],
  ssh: [debianProgram('openssh-client', 'ssh')],
  machines: [
    debianProgram('openssh-server', 'sshd'),
    debianProgram('openssh-client', 'ssh-keygen'),
    debianProgram('catatonit'),
    debianProgram('iproute2', 'ip'),
    debianProgram('util-linux', 'unshare'),
  ],
  vms: [
    debianProgram('qemu-system-x86', 'qemu-system-x86_64'),
    debianProgram('debootstrap'),
    debianProgram('e2fsprogs', 'mke2fs'),
    debianProgram('iproute2', 'ip'),
  ],
  containers: [debianProgram('podman'), debianProgram('runc'), debianProgram('libc-bin', 'ldd')],
}

const goParts: Record<Need, GoProgram[]> = {
  redis: [],
  postgres: [],
  clocks: [],
  curl: [],
  browser: [],
  balancer: [],
  ingress: [],
  kubectl: ['kubectl'],
  kwok: ['kwok', 'kubectl'],
  cluster: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok', 'kubectl'],
  node: ['kubelet', 'kube-proxy'],
  engine: [],
  image: [],
  builder: [],
  names: ['coredns'],
  policies: ['kube-network-policies'],
  java: [],
  prometheus: [],
  python: [],
  ssh: [],
  machines: [],
  vms: [],
  containers: [],
}

/** The programs that set-up has found or installed. */
export interface Tools {
  /** A program's path. Throws for a program that no need covers. */
  program(name: string): string
}

/** Thrown when packages are missing and cannot be installed; the message names all of them. */
export class MissingPackagesError extends Error {
  readonly packages: string[]

  constructor(packages: string[], reason: string) {
    super(
      `These Debian packages are missing, and ${reason}: ${packages.join(' ')}\n  apt-get install ${packages.join(' ')}`,
    )
    this.name = 'MissingPackagesError'
    this.packages = packages
  }
}

/** The missing packages of the needs. Python's only when Go must come from PyPI. */
async function missingPackages(needs: Need[], goPrograms: GoProgram[]): Promise<DebianPart[]> {
  const parts = needs.flatMap(need => debianParts[need])
  if (!goPrograms.every(isBuilt) && !(await machineHasGo())) parts.push(debianProgram('python3'), pythonVenv)
  return missingOf([...new Set(parts)])
}

/**
 * Installs what the needs name: Debian's packages (as root), and programs built from Go modules into the cache. Existing
 * parts are only checked. Throws MissingPackagesError when packages cannot be installed.
 */
export async function setup(needs: Need[], progress: Progress, signal?: AbortSignal): Promise<Tools> {
  const goPrograms = [...new Set(needs.flatMap(need => goParts[need]))]
  const packages = await missingPackages(needs, goPrograms)
  if (packages.length > 0) {
    const names = packages.map(part => part.name)
    if (process.getuid?.() !== 0) throw new MissingPackagesError(names, 'only root can install them')
    if (!findProgram('apt-get')) throw new MissingPackagesError(names, 'there is no apt-get here')
    await installPackages(packages, progress, signal)
  }
  await buildPrograms(goPrograms, progress, signal)
  return {
    program(name) {
      const path = goPrograms.includes(name as GoProgram) ? builtProgram(name as GoProgram) : findProgram(name)
      if (!path) throw new Error(`no program ${name}: set-up was not asked for it`)
      return path
    },
  }
}
