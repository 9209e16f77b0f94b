/** The resources of a replica, measured from outside: open files and connections by `/proc`, the heap by its report. */
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '../../../dev/process/api-client.ts'

export interface Gauges {
  /** Open files that are no connections. */
  readonly files: number
  /** Connections to Redis, or to the proxy before it. */
  readonly redis: number
  /** Connections to other servers: the API server and registries. */
  readonly outgoing: number
  /** Connections from clients. */
  readonly serving: number
  readonly heapMb: number
}

export interface Measured {
  readonly pid: number
  /** The port on which it serves. */
  readonly ports: readonly number[]
  readonly redisPort: number
  /** The folder that it shares with its test. */
  readonly folder: string
}

const limitMs = 10_000

/** @throws if the process does not exist, or reports nothing */
export async function measure({ pid, ports, redisPort, folder }: Measured): Promise<Gauges> {
  const heapMb = Math.round((await heapOf(pid, folder)) / 2 ** 20)
  const sockets = socketsOf(pid)
  const open = readdirSync(`/proc/${pid}/fd`).flatMap(fd => linkOf(`/proc/${pid}/fd/${fd}`) ?? [])
  const inodes = open.flatMap(link => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? [])
  const connections = inodes.flatMap(inode => sockets.get(inode) ?? [])
  const count = (which: (socket: Socket) => boolean) => connections.filter(which).length
  return {
    files: open.length - inodes.length,
    redis: count(({ remote }) => remote === redisPort),
    outgoing: count(({ local, remote }) => !ports.includes(local) && remote !== redisPort),
    serving: count(({ local }) => ports.includes(local)),
    heapMb,
  }
}

interface Socket {
  readonly local: number
  readonly remote: number
}

/** Ports of TCP connections, by inode. */
function socketsOf(pid: number): ReadonlyMap<string, Socket> {
  const lines = ['tcp', 'tcp6'].flatMap(name => readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n').slice(1))
  const portOf = (address: string) => Number.parseInt(address.split(':')[1] ?? '0', 16)
  return new Map(
    lines
      .map(line => line.trim().split(/\s+/))
      .filter(fields => fields.length > 9)
      .map(fields => [fields[9]!, { local: portOf(fields[1]!), remote: portOf(fields[2]!) }]),
  )
}

/** A file that was closed after the listing has no link. */
function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

async function heapOf(pid: number, folder: string): Promise<number> {
  const file = join(folder, `heap.${pid}`)
  rmSync(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  let bytes = 0
  const isWritten = async () => {
    bytes = Number(readFileSync(file, 'utf8'))
    return bytes > 0
  }
  await waitUntil(isWritten, { what: `the heap of ${pid}`, limitMs })
  return bytes
}

export type ProcessState = 'working' | 'stopped' | 'gone'

export function stateOf(pid: number): ProcessState {
  try {
    const state = /^.*\) (\S) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
    return state === 'T' ? 'stopped' : state === 'Z' ? 'gone' : 'working'
  } catch {
    return 'gone'
  }
}
