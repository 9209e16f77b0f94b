/** The program that machines get: the runner of this very version. */
import { createHash } from 'node:crypto'
import { existsSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Packed } from './packed.ts'
import { readShared } from './shared-file.ts'

/** What is to be installed. A replica reads and hashes it once, and installs it on many machines. */
export interface RunnerProgram {
  /** The sha256 of the whole, in hex: machines have it under this name. '' where the machine's image has it. */
  readonly hash: string
  /** What `uname -m` must say. Undefined: not asked. */
  readonly architecture: string | undefined
  /** The folder for it on machines. It is made where it lacks. */
  readonly directory: string
  /** Whether the machine's image has it there (`DeployRunnerBinary: ""`), as `skylab`: nothing is copied. */
  readonly isStanding: boolean
  /** Of a program of several files, the first one is run, and the others are its first arguments. */
  readonly files: readonly ProgramFile[]
}

export interface ProgramFile {
  /** Its name on the machine, such as `node`. */
  readonly name: string
  readonly bytes: number
  /** Of the unpacked content, in hex. */
  readonly sha256: string
  /** The content, packed by gzip. */
  open(): Readable
}

export const itself = '/proc/self/exe'
const defaultDirectory = '/var/lib/skylab/bin'

export interface ProgramOptions {
  /** `DeployRunnerBinary`: '/proc/self/exe', a path of this machine, or ''. */
  readonly deploy: string
  /** `DeployRunnerDirectory`: its folder on machines. Default `/var/lib/skylab/bin`. */
  readonly directory?: string | undefined
  /** The runner in one file, which this process' Node runs. Default: of the program as built. */
  readonly bundle?: string | undefined
}

/** @throws an Error in words where a file cannot be read */
export async function runnerProgram(options: ProgramOptions): Promise<RunnerProgram> {
  const { deploy, directory = defaultDirectory, bundle = builtRunner() } = options
  if (deploy === '') return { hash: '', architecture: undefined, directory, isStanding: true, files: [] }
  // Node, and the runner for it: together they are this very version, as one executable would be.
  const sources = deploy === itself ? { node: itself, 'runner.cjs': bundle } : { skylab: deploy }
  const read = await Promise.all(Object.entries(sources).map(([name, file]) => readProgramFile(name, file)))
  const files = read.map(({ file }) => file)
  const hash = createHash('sha256')
  for (const { name, sha256 } of files) hash.update(`${sha256}  ${name}\n`)
  return { hash: hash.digest('hex'), architecture: read[0]!.architecture, directory, isStanding: false, files }
}

/** Beside the modules of the bundled program; of a checkout, in `dist`, which `npm run build` makes. */
function builtRunner(): string {
  const places = ['./runner.cjs', '../../dist/runner.cjs'].map(place => fileURLToPath(new URL(place, import.meta.url)))
  return places.find(place => existsSync(place)) ?? places[1]!
}

async function readProgramFile(name: string, path: string) {
  // It stays open: what is copied later is the file that was hashed, also when the path gets another one.
  const fd = openProgram(path)
  const sha256 = await hashOf(fd)
  const packed = new Packed(() => readShared(fd))
  const file: ProgramFile = { name, bytes: fstatSync(fd).size, sha256, open: () => packed.open() }
  return { file, architecture: architectureOf(fd) }
}

function openProgram(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    throw new Error(`${path}, the program for machines, cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

async function hashOf(fd: number): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of readShared(fd)) hash.update(chunk)
  return hash.digest('hex')
}

const elf = Buffer.from('\x7fELF', 'latin1')
const machines = new Map([
  [0x3e, 'x86_64'],
  [0xb7, 'aarch64'],
])

/** As `uname -m` names it; undefined for scripts, and for what no test ran on. */
function architectureOf(fd: number): string | undefined {
  const head = Buffer.alloc(20)
  readSync(fd, head, 0, head.length, 0)
  return head.subarray(0, 4).equals(elf) ? machines.get(head.readUInt16LE(18)) : undefined
}
