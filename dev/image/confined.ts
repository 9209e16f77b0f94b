import { spawn } from 'node:child_process'
import { CommandError, type CommandOptions } from '../process/command.ts'

/**
 * Runs a command with mounts and processes of its own. They all go when it ends, when `signal` is aborted and when this
 * process is killed: debootstrap's mounts in the tree would otherwise stay. Settles once all of them are gone, and
 * rejects with the end of stderr. Needs root.
 */
export function runConfined(
  command: string,
  args: string[],
  { signal, env }: Pick<CommandOptions, 'signal' | 'env'>,
): Promise<void> {
  const namespaces = ['unshare', '--mount', '--pid', '--fork', '--kill-child']
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...namespaces, command, ...args], {
    // debootstrap and chroot are in folders that the PATH of an ordinary login lacks.
    env: env ?? { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
    signal,
    // unshare delays SIGTERM until its child has ended.
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', chunk => {
    stderr += chunk
  })
  return new Promise((resolve, reject) => {
    let failure: Error | undefined
    child.once('error', error => {
      failure = error
    })
    // The last process closes the pipes, so by then nothing of the command runs.
    child.once('close', code => {
      if (code === 0 && !failure) resolve()
      else reject(failure ?? new CommandError(command, args, code, stderr))
    })
  })
}
