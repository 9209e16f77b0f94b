/** A real JupyterHub with configurable-http-proxy as a process of its own, so that each can end without the other. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeIp } from '../node/network.ts'
import { searchPath } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import { type ProcessSpec, stopProcess } from '../process/process.ts'
import { controlServer, type ServerControl, startServer } from '../process/server.ts'
import type { ConfigInput } from '../stack/config.ts'
import type { Names } from './names.ts'

/** The example for operators; it runs here unchanged. */
export const plainConfig = fileURLToPath(new URL('../../hub/examples/plain/jupyterhub_config.py', import.meta.url))

/** Configuration of the controller for labs of this Hub: they run its server, and may reach it. */
export const labsOfHub = {
  lab: { command: ['jupyterhub-singleuser'] },
  network: { egressRanges: [`${nodeIp}/32`] },
} satisfies ConfigInput

export interface HubOptions {
  /** The folder of an open run, or one in it. */
  readonly stateDir: string
  /** Name of its process, log and folder, when a run has several. Default `hub`; the proxy is `<name>-proxy`. */
  readonly name?: string
  /** Folder of the virtual environment. */
  readonly environment: string
  /** Folder of the installed package. */
  readonly package: string
  /** Address of the controller, for example a balancer's. */
  readonly controllerUrl: string
  /** Token of the Hub's account, which has `admin:jupyterlab` only. */
  readonly token: string
  /** Resolves the names of labs. Null when no lab can be reached by its name. */
  readonly names: Names | null
  /** The address of this machine for labs. Default: the node's. */
  readonly address?: string
  /** A configuration file of JupyterHub, run with the same environment. Default: the example for operators. */
  readonly config?: string
  /** Arguments for the Hub, such as `--JupyterHub.log_level=DEBUG`: they override the configuration file. */
  readonly args?: readonly string[]
  /** Variables added to the Hub's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** A folder for the logs that outlives the run. */
  readonly keepLogsIn?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Controls the Hub only: its proxy lives on, and with it the routes to running labs. */
export interface Hub extends ServerControl {
  /** The address for users: the proxy's. */
  readonly url: string
  /** The address of the Hub itself, for labs. */
  readonly hubUrl: string
  /** Paths of the logs of Hub and proxy. */
  readonly logs: readonly string[]
  /** Everything that it and its proxy have logged, over all restarts. */
  log(): string
  /** Process id of the Hub; changes with a restart. */
  readonly pid: () => number
  /** Ends the Hub but not its proxy, as an upgrade does; `start` brings it back. */
  end(): Promise<void>
  /** Ends the Hub and its proxy. */
  stop(): Promise<void>
}

const startLimitMs = 120_000
const endLimitMs = 10_000
const require = createRequire(import.meta.url)

interface Ports {
  readonly public: number
  readonly hub: number
  readonly api: number
}

/** Starts Hub and proxy; resolves when the Hub answers through its proxy. They end with the run at the latest. */
export async function startHub(options: HubOptions): Promise<Hub> {
  const { stateDir, name = 'hub', address = nodeIp, signal } = options
  const ports: Ports = { public: await freePort(), hub: await freePort(), api: await freePort() }
  const [url, hubUrl] = [`http://127.0.0.1:${ports.public}`, `http://${address}:${ports.hub}`]
  const folder = join(stateDir, name)
  mkdirSync(folder, { recursive: true })
  const proxyName = `${name}-proxy`
  const logs = [name, proxyName].map(each => logFile(options, each))
  const authToken = randomBytes(32).toString('hex')
  const proxy = proxySpec(options, proxyName, ports, hubUrl, authToken)
  const hub = hubSpec(options, name, { url, hubUrl, folder, ports, authToken })
  const proxyAnswers = async () => (await fetch(`${url}/_chp_healthz`)).ok
  // The Hub directly first: before it runs, each try through the proxy would be logged as an error.
  const answers = async () => (await fetch(`${hubUrl}/hub/health`)).ok && (await fetch(`${url}/hub/health`)).ok
  const ready = { answers, limitMs: startLimitMs, signal }
  await startServer(proxy, { answers: proxyAnswers, limitMs: startLimitMs, signal })
  await startServer(hub, ready)
  return {
    ...{ url, hubUrl, logs },
    ...controlServer(hub, ready),
    pid: () => Number(readFileSync(join(stateDir, 'pids', name), 'utf8').split(' ')[0]),
    log: () => logs.map(file => readFileSync(file, 'utf8')).join(''),
    end: () => stopProcess(stateDir, name, endLimitMs),
    async stop() {
      await stopProcess(stateDir, name, endLimitMs)
      await stopProcess(stateDir, proxyName, 2000)
    },
  }
}

/** The file for its output; with `keepLogsIn` the run's own path is a link to it. */
function logFile({ stateDir, keepLogsIn }: HubOptions, name: string): string {
  const own = join(stateDir, 'log', `${name}.log`)
  if (keepLogsIn === undefined) return own
  for (const folder of [dirname(own), keepLogsIn]) mkdirSync(folder, { recursive: true })
  const kept = join(keepLogsIn, `${name}.log`)
  writeFileSync(kept, '')
  if (!existsSync(own)) symlinkSync(kept, own)
  return kept
}

function proxySpec(options: HubOptions, name: string, ports: Ports, hubUrl: string, token: string): ProcessSpec {
  const program = require.resolve('configurable-http-proxy/bin/configurable-http-proxy')
  const args = [
    ...[program, '--ip', '127.0.0.1', '--port', String(ports.public)],
    ...['--api-ip', '127.0.0.1', '--api-port', String(ports.api)],
    ...['--default-target', hubUrl, '--error-target', `${hubUrl}/hub/error`],
  ]
  const env = { CONFIGPROXY_AUTH_TOKEN: token }
  return within(options, { name, command: process.execPath, args, env, stateDir: options.stateDir })
}

interface HubPlace {
  readonly url: string
  readonly hubUrl: string
  readonly folder: string
  readonly ports: Ports
  readonly authToken: string
}

function hubSpec(options: HubOptions, name: string, place: HubPlace): ProcessSpec {
  const { stateDir, environment, controllerUrl, token, config = plainConfig, args = [] } = options
  const { url, hubUrl, folder, ports, authToken } = place
  const tokenFile = join(folder, 'controller-token')
  writeFileSync(tokenFile, token, { mode: 0o600 })
  const bin = join(environment, 'bin')
  const env = {
    PATH: [bin, ...searchPath].join(delimiter),
    PYTHONPATH: options.package,
    // The cache can be read-only, and the checkout must not change.
    PYTHONDONTWRITEBYTECODE: '1',
    JUPYTERHUB_CRYPT_KEY: randomBytes(32).toString('hex'),
    CONFIGPROXY_AUTH_TOKEN: authToken,
    HUB_URL: url,
    HUB_API_URL: hubUrl,
    HUB_PROXY_API_URL: `http://127.0.0.1:${ports.api}`,
    HUB_FOLDER: folder,
    SKYLAB_CONTROLLER_URL: `${controllerUrl}/nublado/spawner/v1`,
    SKYLAB_HUB_TOKEN_FILE: tokenFile,
    ...options.env,
  }
  const command = join(bin, 'jupyterhub')
  return within(options, { name, command, args: ['--config', config, ...args], env, cwd: folder, stateDir })
}

const within = ({ names }: HubOptions, spec: ProcessSpec): ProcessSpec => names?.within(spec) ?? spec
