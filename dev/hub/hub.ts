/** A real JupyterHub with a configurable-http-proxy of its own process, so that the one can die without the other. */
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

/** The example for operators, which runs here as it stands. */
export const plainConfig = fileURLToPath(new URL('../../hub/examples/plain/jupyterhub_config.py', import.meta.url))

/** What the controller's configuration must say for labs of this Hub: they run its server, and may ask it. */
export const labsOfHub = {
  lab: { command: ['jupyterhub-singleuser'] },
  network: { egressRanges: [`${nodeIp}/32`] },
} satisfies ConfigInput

export interface HubOptions {
  /** The folder of an open run, or one in it. */
  readonly stateDir: string
  /** Of its process, its log and its folder, where a run has more than one. Default `hub`; the proxy is `<name>-proxy`. */
  readonly name?: string
  /** Folder of the virtual environment. */
  readonly environment: string
  /** Folder of the installed package. */
  readonly package: string
  /** Where the controller answers, such as a balancer's address. */
  readonly controllerUrl: string
  /** The Hub's own, of an account with `admin:jupyterlab` alone. */
  readonly token: string
  /** How labs are found. Null where none of them can be reached by its name. */
  readonly names: Names | null
  /** The address of this machine at which labs reach the Hub. Default: the node's. */
  readonly address?: string
  /** A configuration file of JupyterHub, given by the same environment. Default: the example for operators. */
  readonly config?: string
  /** Added to the Hub's command line, such as `--JupyterHub.log_level=DEBUG`: they go before the configuration file. */
  readonly args?: readonly string[]
  /** Added to the Hub's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** A folder that outlives the run: logs are written there. */
  readonly keepLogsIn?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** The control is the Hub's alone: its proxy lives on, and with it the way to labs that run. */
export interface Hub extends ServerControl {
  /** Where people come: the proxy's. */
  readonly url: string
  /** Where the Hub itself answers, for labs. */
  readonly hubUrl: string
  /** Paths of the logs of Hub and proxy. */
  readonly logs: readonly string[]
  /** What it and its proxy have logged so far, in all its lives. */
  log(): string
  /** Process number of its present life. */
  readonly pid: () => number
  /** Asks the Hub alone to end, as an upgrade does; `start` brings it back. */
  end(): Promise<void>
  /** Ends both. */
  stop(): Promise<void>
}

const startLimitMs = 60_000
const endLimitMs = 10_000
const require = createRequire(import.meta.url)

interface Ports {
  readonly public: number
  readonly hub: number
  readonly api: number
}

/** Starts both; resolves when the Hub answers through its proxy. They end with the run at the latest. */
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
  // Itself first, or the proxy would log that it is not there yet, again and again.
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

/** Where its output goes; with `keepLogsIn` the run's own place is a link to it. */
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
    // What is in the cache may be read-only, and what is in the checkout stays as it is.
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
