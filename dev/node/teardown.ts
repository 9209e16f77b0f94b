import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { removeCgroups, removeIfEmpty } from '../process/cgroups.ts'
import { attempt } from '../process/command.ts'
import {
  fixedFolders,
  listMachine,
  machineDifferences,
  mountPoints,
  podProcesses,
  readSysctl,
  sysctlFile,
} from '../process/machine.ts'
import { killAll, startTimeOf } from '../process/process.ts'
import { tearDownNetwork } from './network.ts'
import type { NodeRecord } from './record.ts'

/**
 * Takes away what a real node leaves on the machine once all that was started for it has ended: what runs in pods,
 * mounts, network, cgroups, sysctls and folders with fixed names. There is no polite way beside it, in which kubelet and
 * containerd would help: what works after a crash works always. Resolves with what differs from before.
 */
export async function tearDownNode(stateDir: string, record: NodeRecord): Promise<string[]> {
  await killAll(podProcesses().map(pid => ({ pid, startTime: startTimeOf(pid) ?? 'ended' })))
  await unmountUnder(stateDir)
  await tearDownNetwork(record.machine)
  await removeCgroups('kubepods')
  restoreSysctls(record)
  removeFixedFolders(stateDir, record)
  return machineDifferences(record.machine, await listMachine({ processes: false }))
}

/** One that cannot be written is told by the comparison in the end, and keeps nothing else from being cleaned. */
function restoreSysctls({ sysctls }: NodeRecord): void {
  for (const [name, value] of Object.entries(sysctls)) {
    if (readSysctl(name) === value) continue
    try {
      writeFileSync(sysctlFile(name), value)
    } catch {
      // See above.
    }
  }
}

/** Root file systems, shared memory, volumes, network namespaces, and the kubelet's root, which it mounts onto itself. */
async function unmountUnder(folder: string): Promise<void> {
  // What was mounted last lies innermost, or on top.
  const points = mountPoints()
    .filter(path => path.startsWith(`${folder}/`))
    .reverse()
  for (const point of points) {
    if ((await attempt('umount', [point])) === null) await attempt('umount', ['--lazy', point])
  }
}

const list = (folder: string) => (existsSync(folder) ? readdirSync(folder).map(name => join(folder, name)) : [])

function removeFixedFolders(stateDir: string, { machine }: NodeRecord): void {
  const wasThere = (path: string) => machine.includes(`folder     ${path}`)
  for (const path of list('/var/log/containers')) {
    if (pointsInto(path, stateDir)) rmSync(path)
  }
  const sockets = readFileSync('/proc/net/unix', 'utf8')
  for (const path of list('/run/containerd/s')) {
    if (!sockets.includes(path)) rmSync(path)
  }
  const ours = ['/var/lib/kubelet/device-plugins', '/var/lib/cni/results', '/var/log/containers', '/var/log/pods']
  for (const path of ours.filter(folder => !wasThere(folder))) rmSync(path, { recursive: true, force: true })
  const frames = ['/run/containerd/s', ...fixedFolders]
  for (const path of frames.filter(folder => !wasThere(folder))) removeIfEmpty(path)
}

function pointsInto(path: string, folder: string): boolean {
  try {
    return readlinkSync(path).startsWith(`${folder}/`)
  } catch {
    return false
  }
}
