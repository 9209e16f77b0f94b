#!/usr/bin/env node
/** The command line: `skylab serve` and `skylab check`. */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import packageJson from '../package.json' with { type: 'json' }
import { loadSettings, type Settings } from './config/load.ts'
import { ConfigError } from './config/problems.ts'

const usage = `usage: skylab serve --config FILE    answer requests until SIGTERM
       skylab check --config FILE    say what is wrong with a configuration
       skylab --help | --version

In the environment: SKYLAB_PORT, SKYLAB_REPLICA, SKYLAB_SEALING_KEY override the file.
`

/** Exit codes: all is well; the command or the configuration is not. */
const ok = 0
const refused = 2

interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>
  serve(settings: Settings): Promise<void>
  out(text: string): void
  err(text: string): void
}

/**
 * Runs one command line.
 * @returns the exit code, or undefined when the process now serves and ends by itself
 */
export async function main(args: readonly string[], { env, serve, out, err }: Invocation): Promise<number | undefined> {
  const command = parseCommand(args)
  if (command === undefined) {
    err(usage)
    return refused
  }
  if (command.kind === 'help' || command.kind === 'version') {
    out(command.kind === 'help' ? usage : `skylab ${packageJson.version}\n`)
    return ok
  }
  try {
    const settings = await loadSettings(command.config, env)
    if (command.kind === 'serve') {
      await serve(settings)
      return undefined
    }
    for (const warning of settings.warnings) err(`warning: ${warning}\n`)
    out('ok\n')
    return ok
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    err(`${error.message}\n`)
    return refused
  }
}

type Command =
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'serve' | 'check'; readonly config: string }

/** @returns undefined for what the usage does not name */
function parseCommand(args: readonly string[]): Command | undefined {
  const options = { config: { type: 'string' }, help: { type: 'boolean' }, version: { type: 'boolean' } } as const
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    if (values.help) return { kind: 'help' }
    if (values.version) return { kind: 'version' }
    const [kind, ...more] = positionals
    if ((kind !== 'serve' && kind !== 'check') || more.length > 0 || !values.config) return undefined
    return { kind, config: values.config }
  } catch {
    return undefined
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const code = await main(process.argv.slice(2), {
    env: process.env,
    // `skylab check` needs nothing of what serving loads.
    serve: async settings => (await import('./serve.ts')).serve(settings),
    out: text => process.stdout.write(text),
    err: text => process.stderr.write(text),
  })
  if (code !== undefined) process.exitCode = code
}
