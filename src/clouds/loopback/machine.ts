/** One machine of the loopback cloud: runs its init command, then serves SSH on 127.0.0.1 until it is killed. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { newKey } from '../../ssh/new-key.ts'
import { files, replace } from './folder.ts'
import { identityOf, machineMark } from './processes.ts'
import { runCommand, serveSsh } from './server.ts'

/** @param folder as the driver made it. Does nothing when the machine has a process already, or is to end */
export async function runMachine(folder: string): Promise<void> {
  const at = (file: string) => join(folder, file)
  try {
    writeFileSync(at(files.process), identityOf(process.pid) ?? '', { flag: 'wx' })
  } catch {
    return
  }
  if (existsSync(at(files.stopping))) return
  await Promise.all(['home', files.runner].map(name => mkdir(at(name), { recursive: true })))
  const host = { env: environmentOf(folder), cwd: at('home'), rewrite: (text: string) => rewritten(text, folder) }
  await runInit(host.rewrite(readFileSync(at(files.initCommand), 'utf8')), host)
  rmSync(at(files.initCommand))
  const { port } = await serveSsh({
    authorizedKey: readFileSync(at(files.authorizedKey), 'utf8'),
    // As in a cloud: made at its first start.
    hostKey: newKey().private,
    run: (channel, command) => runCommand(channel, command, host),
  })
  await replace(at(files.address), `127.0.0.1:${port}`)
}

/** Replaces the fixed paths of machines: this one has them in its folder. */
function rewritten(text: string, folder: string): string {
  return (
    text
      .replaceAll('/var/run/arvados-instance-secret', () => join(folder, files.secret))
      // Programs are named by their content: all machines may share them.
      .replaceAll(/\/var\/lib\/skylab(\/bin)?\/skylab~/g, () => join(dirname(folder), 'programs/skylab~'))
      .replaceAll('/var/lib/skylab', () => join(folder, files.runner))
  )
}

function environmentOf(folder: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: join(folder, 'home'),
    [machineMark]: folder,
    // Nothing else is needed on this computer.
    SKYLAB_RUNNER_ENGINE: 'process',
    SKYLAB_RUNNER_DIR: join(folder, files.runner),
    SKYLAB_INSTANCE_SECRET_FILE: join(folder, files.secret),
  }
}

/** By its input, since everybody can read arguments, and it has the secret. Its failure is no end: the boot probe decides. */
function runInit(script: string, { env, cwd }: { env: NodeJS.ProcessEnv; cwd: string }): Promise<void> {
  return new Promise(resolve => {
    const child = spawn('/bin/sh', ['-s'], { env, cwd, stdio: ['pipe', 'inherit', 'inherit'] })
    child.on('error', () => resolve())
    child.on('close', () => resolve())
    child.stdin.on('error', () => {})
    child.stdin.end(script)
  })
}
