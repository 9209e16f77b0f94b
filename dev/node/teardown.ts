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
 * Removes what a real node leaves on the machine after its processes have ended: processes in pods, mounts, network,
 * cgroups, sysctls and folders with fixed names. It never asks kubelet or containerd for help: what works after a crash
 * works always. Resolves with the differences from the state before.
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

/** The final comparison reports a value that cannot be written; the rest is restored all the same. */
function restoreSysctls({ sysctls }: NodeRecord): void {
  for (const [name, value] of Object.entries(sysctls)) {
    if (readSysctl(name) === value) continue
    try {
      writeFileSync(sysctlFile(name), value)
    } catch {
      // The comparison reports it.
    }
  }
}

/** Unmounts root file systems, shared memory, volumes, network namespaces, and the kubelet's root (mounted onto itself). */
async function unmountUnder(folder: string): Promise<void> {
  // The last mount is the innermost, or on top.
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
