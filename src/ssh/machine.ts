/** A keeper's requests to its machine, over its one connection of SSH. */
import type { Duplex } from 'node:stream'
import type { Clock } from '../base/clock.ts'
import type { RunnerProgram } from './program.ts'

export interface ConnectOptions {
  /** `host:port`. */
  readonly address: string
  /** Every command of another user than root is run by `sudo -n`. Default `root`. */
  readonly user?: string | undefined
  /** As `readPrivateKey` has read it. */
  readonly key: PrivateKey
  /** What only our machine has in `/var/run/arvados-instance-secret`. */
  readonly secret: string
  /** Where `secret` is only a digest of it, as in tags: makes the digest of what the machine answers. */
  readonly digest?: ((answer: string) => string) | undefined
  /** The host key of an earlier connection, as `Machine.hostKey` had it. */
  readonly pinned?: string | undefined
  /** Names replica, operation and epoch; the machine's SSH server logs it. */
  readonly agent: string
  /** Ends the attempt; after that, the connection too. */
  readonly signal: AbortSignal
  /** Limits the attempt, with login and proof. Default 20 s. */
  readonly timeoutMs?: number | undefined
  readonly clock?: Clock | undefined
  /** Between questions whether the machine is still there; after three without an answer it is `Unreachable`. Default 10 s. */
  readonly keepaliveMs?: number | undefined
}

/** `connect`: resolves with a machine that is proved to be ours. @throws {SshError}; the signal's reason when it is aborted */
export type Connect = (options: ConnectOptions) => Promise<Machine>

/** A private key that was parsed once. Its fields are hidden: no log shows it. */
export interface PrivateKey {
  /** In OpenSSH's form, for the machine's `authorized_keys`. */
  readonly publicKey: string
}

/** A machine that is proved to be ours. */
export interface Machine {
  /** To be pinned: `ssh-ed25519 AAAA…`. */
  readonly hostKey: string
  /** Another key than `pinned` was shown, and the machine proved itself by its secret again: an event is due. */
  readonly changed: boolean
  /** Fires when the connection has ended, by whomever. The reason is an `Unreachable`. */
  readonly ended: AbortSignal
  /** Runs a command by the machine's shell. An exit code is no error. @throws {SshError} without one, or with too much output */
  exec(command: string, options?: ExecOptions): Promise<Exit>
  /** Asks whether the machine has booted. Default `systemctl is-system-running`. @throws as `exec` */
  probe(command?: string, options?: ExecOptions): Promise<Probe>
  /**
   * Puts the program on the machine, or finds that it is there whole already.
   * @throws {MachineLacks} where it never will; @throws as `exec`
   */
  install(program: RunnerProgram, options?: InstallOptions): Promise<Installed>
  /** A command with its input and output, for a long time. @throws {SshError} when the machine opens no channel */
  channel(command: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<MachineChannel>
  /** Ends the connection and all that runs over it, at once. May be called again. */
  close(): void
}

export interface ExecOptions {
  /** Of stdout. Default 64 KiB; more is an error. */
  readonly maxBytes?: number | undefined
  /** Default 30 s. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Exit {
  /** Undefined when a signal ended the command. */
  readonly exitCode: number | undefined
  readonly stdout: string
  /** The last lines of stderr, bounded, cleaned for people to read. */
  readonly words: string
}

export interface Probe {
  readonly isReady: boolean
  /** Why it is not, in words. */
  readonly words: string
}

export interface InstallOptions {
  readonly signal?: AbortSignal | undefined
  /** Default 120 s. */
  readonly timeoutMs?: number | undefined
}

export interface Installed {
  /** The beginning of a command for the machine's shell, quoted; `${command} runner attach` follows. */
  readonly command: string
  /** Whether it stood there already. */
  readonly skipped: boolean
}

/**
 * Input and output of a command. `end()` closes its input only: what it still prints arrives. An end of the connection
 * destroys it with an `Unreachable`.
 */
export interface MachineChannel extends Duplex {
  /** Resolves when the command has ended, or the connection. Never rejects. */
  readonly exit: Promise<ChannelExit>
}

export interface ChannelExit {
  /** Undefined when a signal ended the command, or it is unknown. */
  readonly exitCode: number | undefined
  /** The last lines of stderr, bounded and cleaned; or why the connection ended. */
  readonly words: string
}
