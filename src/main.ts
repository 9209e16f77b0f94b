#!/usr/bin/env node
/** The command line of `skylab`. */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import packageJson from '../package.json' with { type: 'json' }
import { codes, type Output } from './cli/output.ts'
import { ConfigError } from './config/problems.ts'
import type { Settings } from './settings/load.ts'

const usage = `usage: skylab serve --config FILE             answer requests until SIGTERM
       skylab gateway --config FILE           carry requests of people to apps until SIGTERM; as serve with run: [gateway]
       skylab check --config FILE [--without-secrets] [--manifests FILE]
                                              check a configuration, and name images in manifests without a digest;
                                              --without-secrets reads no file that the configuration names
       skylab images --config FILE [--json]   show the images of the registry, as GET …/images would
       skylab render --config FILE --user FILE --lab FILE [--secrets]
                                              print a lab's objects as YAML; reads user and request as JSON
       skylab rights --config FILE --namespace NAME
                                              print the rights that an operator grants to this installation, as YAML
       skylab tables --config FILE            print the statements that make the tables of bills (tenants.billing), as SQL
       skylab heal --config FILE [--apply [--with-labs]] [--json]
                                              show the effects of a poisoned operation counter; --apply removes them,
                                              running labs only with --with-labs
       skylab vet --config FILE [--against FILE] [--json]
       skylab vet --config FILE --write FILE  compare what the cluster gives to users of tenants with what was vetted for its
                                              version of Kubernetes, or with a file; --write records it as vetted
       skylab instance list | hold ID | drain ID | run ID | kill ID --reason TEXT [--url URL --token-file FILE] [--json]
                                              show the machines of a running installation, and act on one
       skylab container list | kill UUID --reason TEXT [--url URL --token-file FILE] [--json]
                                              show its queue, with why each container waits, and cancel one
       skylab cloudtest --config FILE [--instance-type NAME] [--image-id ID] [--container-image IMAGE] [--command TEXT]
                        [--destroy-existing] [--json]
                                              make one machine in the cloud, run a command there and end it, each step timed
       skylab shell [--url URL] [--token-file FILE] [--admin] [-t] [-N] [-L PORT:localhost:PORT]… UUID [COMMAND…]
                                              a shell, or a command, in a running container; -L carries a port of it
       skylab runner attach [--engine docker|podman|process]
       skylab runner --list | --kill UUID     run containers on this rented machine for a keeper, at the standard streams; for
                                              humans: list what runs, or end it
       skylab --help | --version

In the environment: SKYLAB_URL and SKYLAB_MANAGEMENT_TOKEN_FILE stand for --url and --token-file.
SKYLAB_PORT, SKYLAB_MONITORING_PORT, SKYLAB_REPLICA, SKYLAB_SEALING_KEY override the file.
shell takes SKYLAB_URL, and SKYLAB_TOKEN_FILE or SKYLAB_TOKEN, where the command line says nothing.
ENABLE_CULLING, CULL_IDLE_TIME, IDLENESS_CHECK_PERIOD add to it for notebooks.
PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD, PGSSLROOTCERT and NC_PROJECT_ID, NC_BIGQUERY_DATASET_NAME,
NC_BIGQUERY_TABLE_NAME add to it for the bills of tenants.
rights and tables contact no server; images and render contact only the registry, and vet only the Kubernetes API. render masks secret values unless --secrets is given.
heal contacts Redis and the Kubernetes API, where dispatch runs Redis alone, and changes nothing without --apply.
cloudtest contacts the cloud and its machine alone.
Exit codes: 0 success, 1 failed, 2 the command or a file is wrong.
`

interface Invocation extends Output {
  readonly env: Readonly<Record<string, string | undefined>>
  serve(settings: Settings): Promise<void>
  /** Its streams are those of the process. @returns the exit code */
  runner?(args: readonly string[]): Promise<number>
  /** The same. */
  shell?(args: readonly string[]): Promise<number>
}

/**
 * Runs one command line.
 * @returns the exit code, or undefined when the process now serves and ends by itself
 */
export async function main(args: readonly string[], invocation: Invocation): Promise<number | undefined> {
  const { out, err } = invocation
  if (args[0] === 'runner' && invocation.runner) return invocation.runner(args.slice(1))
  // A machine of the driver `loopback`, which starts it: no command for people.
  if (args[0] === 'loopback-machine' && args[1] !== undefined) {
    await (await import('./clouds/loopback/machine.ts')).runMachine(args[1])
    return undefined
  }
  const ofOperators = operatorCommand(args)
  const command = ofOperators ? undefined : parseCommand(args)
  if (command === undefined && ofOperators === undefined) {
    err(usage)
    return codes.refused
  }
  if (command?.kind === 'help' || command?.kind === 'version') {
    out(command.kind === 'help' ? usage : `skylab ${packageJson.version}\n`)
    return codes.ok
  }
  try {
    return await (ofOperators ? ofOperators(invocation) : run(command as FileCommand, invocation))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    err(`${error.message}\n`)
    return codes.refused
  }
}

/** Commands that name their own problems, and have more than one word. */
function operatorCommand([name, ...args]: readonly string[]): ((by: Invocation) => Promise<number>) | undefined {
  // Its words may be those of a command in a container.
  if (name === 'shell') return async ({ shell }) => shell?.(args) ?? codes.refused
  if (args.includes('--help')) return undefined
  if (name === 'instance') return async by => (await import('./cli/instance.ts')).instance(args, by.env, by)
  if (name === 'container') return async by => (await import('./cli/container.ts')).container(args, by.env, by)
  if (name === 'cloudtest') return async by => (await import('./cli/cloudtest.ts')).cloudtest(args, by)
  return undefined
}

/** Loads modules of the chosen command only. */
async function run(
  command: FileCommand,
  { env, serve, out, err }: Omit<Invocation, 'runner'>,
): Promise<number | undefined> {
  if (command.kind === 'images') return (await import('./cli/images.ts')).showImages(command, { out, err })
  if (command.kind === 'render') return (await import('./cli/render.ts')).renderFiles(command, { out, err })
  if (command.kind === 'rights') return (await import('./cli/rights.ts')).showRights(command, { out, err })
  if (command.kind === 'tables') return (await import('./cli/tables.ts')).showTables(command, env, { out, err })
  if (command.kind === 'check') return check(command, { env, out, err })
  const { loadSettings } = await import('./settings/load.ts')
  const settings = await loadSettings(command.config, env, command.kind === 'gateway' ? { run: 'gateway' } : {})
  if (command.kind === 'heal') return (await import('./cli/heal.ts')).heal(settings, command, { out, err })
  if (command.kind === 'vet') return (await import('./cli/vet.ts')).vet(settings, command, { out, err })
  await serve(settings)
  return undefined
}

async function check(
  { config, manifests, withoutSecrets }: CheckCommand,
  { env, out, err }: Omit<Invocation, 'serve' | 'runner'>,
): Promise<number> {
  const { checkWithoutSecrets, loadSettings } = await import('./settings/load.ts')
  const warnings = withoutSecrets ? await checkWithoutSecrets(config, env) : (await loadSettings(config, env)).warnings
  const unpinned = manifests ? await (await import('./cli/manifests.ts')).manifestWarnings(manifests) : []
  for (const warning of [...warnings, ...unpinned]) err(`warning: ${warning}\n`)
  out('ok\n')
  return codes.ok
}

interface CheckCommand {
  readonly kind: 'check'
  readonly config: string
  readonly manifests?: string | undefined
  readonly withoutSecrets: boolean
}

type FileCommand =
  | { readonly kind: 'serve' | 'gateway' | 'tables'; readonly config: string }
  | CheckCommand
  | { readonly kind: 'images'; readonly config: string; readonly json: boolean }
  | { readonly kind: 'rights'; readonly config: string; readonly namespace?: string | undefined }
  | {
      readonly kind: 'heal'
      readonly config: string
      readonly apply: boolean
      readonly withLabs: boolean
      readonly json: boolean
    }
  | {
      readonly kind: 'vet'
      readonly config: string
      readonly against?: string | undefined
      readonly write?: string | undefined
      readonly json: boolean
    }
  | {
      readonly kind: 'render'
      readonly config: string
      readonly user: string
      readonly lab: string
      readonly secrets: boolean
    }
type Command = { readonly kind: 'help' } | { readonly kind: 'version' } | FileCommand

const options = {
  config: { type: 'string' },
  manifests: { type: 'string' },
  'without-secrets': { type: 'boolean' },
  json: { type: 'boolean' },
  user: { type: 'string' },
  lab: { type: 'string' },
  secrets: { type: 'boolean' },
  namespace: { type: 'string' },
  apply: { type: 'boolean' },
  'with-labs': { type: 'boolean' },
  against: { type: 'string' },
  write: { type: 'string' },
  help: { type: 'boolean' },
  version: { type: 'boolean' },
} as const

/** Options by command. */
const takenBy: Readonly<Record<FileCommand['kind'], readonly string[]>> = {
  serve: ['config'],
  gateway: ['config'],
  check: ['config', 'manifests', 'without-secrets'],
  images: ['config', 'json'],
  rights: ['config', 'namespace'],
  tables: ['config'],
  heal: ['config', 'apply', 'with-labs', 'json'],
  vet: ['config', 'against', 'write', 'json'],
  render: ['config', 'user', 'lab', 'secrets'],
}

const isKind = (text: string | undefined): text is FileCommand['kind'] =>
  text !== undefined && Object.hasOwn(takenBy, text)

/** @returns undefined when the usage does not allow it */
function parseCommand(args: readonly string[]): Command | undefined {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    if (values.help) return { kind: 'help' }
    if (values.version) return { kind: 'version' }
    const [kind, ...more] = positionals
    const { config, json = false, user, lab, secrets = false, apply = false } = values
    const { 'with-labs': withLabs = false, 'without-secrets': withoutSecrets = false, manifests } = values
    if (!isKind(kind) || more.length > 0 || !config) return undefined
    if (Object.keys(values).some(name => !takenBy[kind].includes(name))) return undefined
    if (kind === 'images') return { kind, config, json }
    if (kind === 'rights') return { kind, config, namespace: values.namespace }
    if (kind === 'heal') return { kind, config, apply, withLabs, json }
    if (kind === 'vet') return vetCommand(config, values)
    if (kind === 'render') return user && lab ? { kind, config, user, lab, secrets } : undefined
    return kind === 'check' ? { kind, config, manifests, withoutSecrets } : { kind, config }
  } catch {
    return undefined
  }
}

/** What is recorded is compared with nothing. */
function vetCommand(
  config: string,
  { against, write, json = false }: { against?: string; write?: string; json?: boolean },
): Command | undefined {
  return write !== undefined && (against !== undefined || json)
    ? undefined
    : { kind: 'vet', config, against, write, json }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const streams = {
    out: (text: string) => void process.stdout.write(text),
    err: (text: string) => void process.stderr.write(text),
  }
  const code = await main(process.argv.slice(2), {
    env: process.env,
    // `skylab check` loads no module of the server.
    // A process loads only what it serves.
    serve: async settings => {
      const { run } = settings.config
      if (run.includes('gateway')) return (await import('./run/gateway/serve.ts')).serveGateway(settings)
      if (run.includes('tenants')) return (await import('./run/tenants/serve.ts')).serveTenants(settings)
      if (run.includes('notebooks')) return (await import('./run/notebooks/serve.ts')).serveNotebooks(settings)
      if (run.includes('dispatch')) return (await import('./run/dispatch/serve.ts')).serveDispatch(settings)
      if (run.includes('apps')) return (await import('./run/apps/serve.ts')).serveApps(settings)
      return (await import('./run/serve.ts')).serve(settings)
    },
    shell: async shellArgs => {
      const { env, stdin: input, stdout: output } = process
      return (await import('./cli/shell.ts')).shell(shellArgs, { env, input, output, ...streams })
    },
    runner: async runnerArgs => {
      const { env, stdin: input, stdout: output } = process
      const { version } = packageJson
      const code = await (await import('./runner/command.ts')).runRunner(runnerArgs, {
        env,
        version,
        input,
        output,
        ...streams,
      })
      // Its channel may be left open by whoever has it.
      process.exit(code)
    },
    ...streams,
  })
  if (code !== undefined) process.exitCode = code
}
