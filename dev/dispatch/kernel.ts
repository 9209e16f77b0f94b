/** What the kernel says of machines and their keepers, who are all processes of this host. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { machineMark } from '../../src/clouds/loopback/processes.ts'

const established = '01'

/** Whether a process has a TCP connection to an address of loopback, as the keeper of a machine has to its SSH server. */
export function isConnected(pid: number, address: string): boolean {
  const port = Number(address.split(':').at(-1))
  const inodes = connectionsTo(port, readFileSync('/proc/net/tcp', 'utf8'))
  return socketsOf(pid).some(inode => inodes.has(inode))
}

/** @param table as `/proc/net/tcp` has it @returns inodes of the sockets of those who connected to the port */
export function connectionsTo(port: number, table: string): ReadonlySet<string> {
  const rows = table.trim().split('\n').slice(1)
  const fields = rows.map(row => row.trim().split(/\s+/))
  const ours = fields.filter(([, , remote = '', state]) => {
    return state === established && Number.parseInt(remote.split(':')[1] ?? '', 16) === port
  })
  return new Set(ours.map(row => row[9] ?? ''))
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  try {
    return readdirSync(folder).flatMap(fd => /^socket:\[(\d+)\]$/.exec(linkOf(`${folder}/${fd}`))?.[1] ?? [])
  } catch {
    return []
  }
}

/** '' for one that was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** Processes of a machine, by its folder, or of all machines below one. */
export function machineProcesses(folder: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(pid =>
      environmentOf(pid).some(variable => `${variable}/`.startsWith(`${machineMark}=${folder.replace(/\/$/, '')}/`)),
    )
    .map(Number)
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}
