/**
 * `skylab shell`: the system's `ssh`, with this program as its ProxyCommand. The address is in the environment of both, and so is the
 * token or the name of its file: no command line has a secret.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { quoted } from '../ssh/quoted.ts'
import { urlOf, urlVariable, wrong as wrongFor } from './address.ts'
import { codes, type Output } from './output.ts'
import { openShell, type ShellAt, ShellRefused } from './shell-proxy.ts'

type Environment = Readonly<Record<string, string | undefined>>

export const shellVariables = { url: urlVariable, token: 'SKYLAB_TOKEN', tokenFile: 'SKYLAB_TOKEN_FILE' } as const

export interface ShellInvocation extends Output {
  readonly env: Environment
  readonly input: Readable
  readonly output: Writable
}

interface ShellCommand {
  readonly uuid: string
  /** Beginning of the command that runs there; empty: a shell. */
  readonly words: readonly string[]
  readonly isAdmin: boolean
  readonly isProxy: boolean
  readonly sshArgs: readonly string[]
  readonly env: Environment
}

const options = {
  url: { type: 'string' },
  'token-file': { type: 'string' },
  admin: { type: 'boolean' },
  /** Of ssh itself, which begins it. */
  proxy: { type: 'boolean' },
  forward: { type: 'string', short: 'L', multiple: true },
  tty: { type: 'boolean', short: 't' },
  'no-command': { type: 'boolean', short: 'N' },
} as const

const uuidForm = /^[a-z0-9]{5}-dz642-[0-9a-z]{15}$/
/** Of the machine that asks: a port, and one of the container. */
const forwardForm = /^(?:(?:localhost|127\.0\.0\.1):)?\d{1,5}:(?:localhost|127\.0\.0\.1):\d{1,5}$/

/** @returns the exit code: that of the command in the container, or 255 where it was not reached. @throws {ConfigError} */
export async function shell(args: readonly string[], invocation: ShellInvocation): Promise<number> {
  const command = shellCommand(args, invocation.env)
  const at = await shellAt(command)
  return command.isProxy ? proxy(at, invocation) : runSsh(command)
}

/** @throws {ConfigError} */
export function shellCommand(args: readonly string[], env: Environment): ShellCommand {
  const { values, positionals } = parsed(args)
  const [uuid = '', ...words] = positionals
  if (!uuidForm.test(uuid)) throw wrong('the uuid of a container is expected')
  const forwards = values.forward ?? []
  for (const each of forwards)
    if (!forwardForm.test(each)) throw wrong(`-L takes PORT:localhost:PORT, and not ${JSON.stringify(each)}`)
  const { url = env[shellVariables.url], 'token-file': tokenFile = env[shellVariables.tokenFile] } = values
  const known = { [shellVariables.url]: url, [shellVariables.tokenFile]: tokenFile }
  return {
    ...{ uuid, words, isAdmin: values.admin ?? false, isProxy: values.proxy ?? false },
    sshArgs: [
      ...forwards.flatMap(each => ['-L', each]),
      ...(values.tty ? ['-t'] : []),
      ...(values['no-command'] ? ['-N'] : []),
    ],
    env: { ...env, ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)) },
  }
}

/** What follows the uuid is the command's own. */
function parsed(args: readonly string[]) {
  const at = args.findIndex(each => uuidForm.test(each))
  const own = at < 0 ? args : args.slice(0, at + 1)
  try {
    const { values, positionals } = parseArgs({ args: [...own], options, allowPositionals: true })
    return { values, positionals: [...positionals, ...args.slice(own.length)] }
  } catch (error) {
    throw wrong((error as Error).message)
  }
}

const wrong = (problem: string) => wrongFor('shell', problem)

async function shellAt({ uuid, isAdmin, env }: ShellCommand): Promise<ShellAt> {
  const url = urlOf('shell', env[shellVariables.url])
  const file = env[shellVariables.tokenFile]
  const token = file ? (await readToken(file)).trim() : env[shellVariables.token]
  if (!token) throw wrong(`--token-file is missing, and ${shellVariables.tokenFile} and ${shellVariables.token} too`)
  if (!/^[\x21-\x7e]{1,4096}$/.test(token))
    throw wrong('the token is not one line of characters that a header can have')
  return { url, token, uuid, isAdmin }
}

async function readToken(file: string): Promise<string> {
  return (await import('../settings/source.ts')).readText(file)
}

async function proxy(at: ShellAt, { input, output, err }: ShellInvocation): Promise<number> {
  try {
    const socket = await openShell(at)
    input.pipe(socket).pipe(output)
    input.on('error', () => socket.destroy())
    output.on('error', () => socket.destroy())
    await once(socket, 'close').catch(() => {})
    return codes.ok
  } catch (error) {
    if (!(error instanceof ShellRefused)) throw error
    err(`${error.message}\n`)
    return codes.failed
  }
}

/** Its peer was proved before SSH begins: by this installation's certificate, and by it the container's. A host key adds nothing. */
const trust = {
  StrictHostKeyChecking: 'no',
  UserKnownHostsFile: '/dev/null',
  GlobalKnownHostsFile: '/dev/null',
  LogLevel: 'ERROR',
  PreferredAuthentications: 'none',
  IdentityAgent: 'none',
  ForwardAgent: 'no',
  ForwardX11: 'no',
  ServerAliveInterval: '30',
  ExitOnForwardFailure: 'yes',
}

/** The command line of `ssh`. */
export function sshLine({ uuid, words, isAdmin, sshArgs }: ShellCommand): readonly string[] {
  const own = [process.execPath, ...process.execArgv, realpathSync(process.argv[1]!), 'shell', '--proxy']
  const through = [...own, ...(isAdmin ? ['--admin'] : []), uuid].map(quoted).join(' ').replaceAll('%', '%%')
  const settings = Object.entries({ ...trust, ProxyCommand: through }).map(([name, value]) => `-o${name}=${value}`)
  // A configuration of the user is about other hosts.
  return ['-F', 'none', ...settings, ...sshArgs, '-l', 'container', '--', uuid, ...words]
}

async function runSsh(command: ShellCommand): Promise<number> {
  const child = spawn('ssh', sshLine(command), { stdio: 'inherit', env: command.env as NodeJS.ProcessEnv })
  // The terminal sends it to both; ssh decides.
  const ignore = () => {}
  process.on('SIGINT', ignore)
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return code ?? 128 + constants.signals[signal!]
  } catch (error) {
    throw wrong(`ssh cannot be started: ${(error as Error).message}`)
  } finally {
    process.off('SIGINT', ignore)
  }
}
