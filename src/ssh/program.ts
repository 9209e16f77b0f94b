/** The program that machines get: the runner of this very version. */
import type { Readable } from 'node:stream'

/** What is to be installed. A replica reads and hashes it once, and installs it on many machines. */
export interface RunnerProgram {
  /** The sha256 of the whole, in hex: machines have it under this name. '' where the machine's image has it. */
  readonly hash: string
  /** What `uname -m` must say. Undefined: not asked. */
  readonly architecture: string | undefined
  /** Where the image has it (`DeployRunnerBinary: ""`): nothing is copied. */
  readonly path: string | undefined
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
