import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface CommandOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  input?: string | Buffer
  signal?: AbortSignal | undefined
  timeoutMs?: number
}

export class CommandError extends Error {
  readonly code: number | null
  readonly stderr: string

  constructor(command: string, args: string[], code: number | null, stderr: string) {
    super(
      `${command} ${args.join(' ')} failed (${code ?? 'killed'}): ${stderr.trim().split('\n').slice(-15).join('\n')}`,
    )
    this.name = 'CommandError'
    this.code = code
    this.stderr = stderr
  }
}

/** Debian has administration programs in folders that an ordinary user's PATH lacks. */
export const searchPath = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin']

/** The path of an installed program; null when it is not installed. */
export function findProgram(name: string): string | null {
  for (const folder of searchPath) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not in this folder.
    }
  }
  return null
}

/** Runs a program to its end and returns its stdout. Throws CommandError with the end of its stderr when it fails. */
export function run(command: string, args: string[], options: CommandOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(findProgram(command) ?? command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      signal: options.signal,
      timeout: options.timeoutMs,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    child.once('error', reject)
    child.once('close', code => {
      if (code === 0) resolve(Buffer.concat(stdout).toString())
      else reject(new CommandError(command, args, code, Buffer.concat(stderr).toString()))
    })
    // The exit code judges a program that ends before it has read its input.
    child.stdin.on('error', () => {})
    child.stdin.end(options.input)
  })
}

/** The same for programs that may fail: null on failure. */
export async function attempt(command: string, args: string[], options: CommandOptions = {}): Promise<string | null> {
  try {
    return await run(command, args, options)
  } catch {
    options.signal?.throwIfAborted()
    return null
  }
}

/** Waits for all promises, and only then throws the first error, so that no work goes on unnoticed. */
export async function together<T extends readonly unknown[]>(...work: T): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work)
  return Promise.all(work)
}
