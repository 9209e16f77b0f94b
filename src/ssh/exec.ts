/** Short commands: run to their end, with bounds for time and output. */
import type { Readable } from 'node:stream'
import { Deadline, unlessAborted } from '../base/deadline.ts'
import type { CommandChannel } from './channel.ts'
import type { Connection } from './connection.ts'
import { Refused, Unreachable } from './errors.ts'
import type { ExecOptions, Exit } from './machine.ts'

export interface RunOptions extends ExecOptions {
  /** Becomes the command's input. Default: none. */
  readonly input?: Readable | undefined
  /** The command, for messages. */
  readonly name: string
}

const defaultBytes = 64 * 1024
const defaultMs = 30_000

/** @throws {Unreachable | Refused}; the signal's reason when it is aborted */
export async function runCommand(connection: Connection, command: string, options: RunOptions): Promise<Exit> {
  const { timeoutMs = defaultMs, maxBytes = defaultBytes, signal, input, name } = options
  const deadline = new Deadline(connection.clock, timeoutMs, signal)
  let channel: CommandChannel | undefined
  try {
    channel = await connection.start(command, deadline.signal)
    const ended = collect(channel, maxBytes, name)
    if (input) input.on('error', error => channel?.destroy(error)).pipe(channel)
    else channel.end()
    return await unlessAborted(ended, deadline.signal)
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (deadline.signal.aborted) throw new Unreachable(`${name} did not end within ${timeoutMs / 1000} s`)
    throw error
  } finally {
    deadline.release()
    channel?.destroy()
    input?.destroy()
  }
}

async function collect(channel: CommandChannel, maxBytes: number, name: string): Promise<Exit> {
  const chunks: Buffer[] = []
  let bytes = 0
  channel.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) channel.destroy(new Refused(`${name} printed more than ${maxBytes} bytes`))
    else chunks.push(chunk)
  })
  await new Promise<void>((resolve, reject) => {
    channel.once('error', reject)
    channel.exit.then(() => (channel.readableEnded || channel.destroyed ? resolve() : channel.once('end', resolve)))
  })
  return { ...(await channel.exit), stdout: Buffer.concat(chunks).toString() }
}
