/** Debian's OpenSSH, listening by itself, as on a machine: nothing of ours is between. */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { findProgram } from '../../dev/process/command.ts'
import { freePort } from '../../dev/process/ports.ts'
import { systemClock } from '../../src/base/clock.ts'
import { writeSshdFiles } from '../../src/ssh/testing/sshd.ts'

export interface ListeningSshd {
  readonly address: string
  readonly folder: string
  stop(): Promise<void>
}

export async function listeningSshd(folder: string, secret: string, publicKey: string): Promise<ListeningSshd> {
  const port = await freePort()
  const config = [`Port ${port}`, 'ListenAddress 127.0.0.1', 'MaxStartups 1000']
  const child = spawn(findProgram('sshd')!, ['-D', '-e', '-f', writeSshdFiles(folder, { secret, publicKey, config })], {
    stdio: 'ignore',
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  while (!(await listens(port))) await systemClock.sleep(20)
  const stop = async () => {
    child.kill()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  return { address: `127.0.0.1:${port}`, folder, stop }
}

const listens = (port: number) =>
  new Promise<boolean>(resolve => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => socket.destroy())
    socket.once('error', () => resolve(false))
    socket.once('close', hadError => resolve(!hadError))
  })
