/** A real JupyterHub without Kubernetes: the servers of its users are processes of this machine. */
import { randomBytes } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Hub, startHub } from '../../../dev/hub/hub.ts'
import { waitUntil } from '../../../dev/process/api-client.ts'
import { createProgress } from '../../../dev/process/progress.ts'
import { type HubVersion, hubEnvironment } from '../../../dev/setup/jupyterhub.ts'
import { pythonEnvironment } from '../../../dev/setup/python.ts'
import { setup } from '../../../dev/setup/setup.ts'

const config = fileURLToPath(new URL('jupyterhub_config.py', import.meta.url))
/** The packages of the image for labs. */
const labRequirements = fileURLToPath(new URL('../../../dev/image/requirements.txt', import.meta.url))
const startLimitMs = 120_000

/** A user's server, as the controller knows a lab. */
export interface SingleUser {
  readonly username: string
  readonly address: string
  readonly port: number
  /** Begins and ends with a slash. */
  readonly prefix: string
  /** Its `JUPYTERHUB_API_TOKEN`. */
  readonly token: string
  /** Its home. */
  readonly home: string
}

export interface LocalHub {
  readonly hub: Hub
  /** A token with the scopes `admin:users` and `admin:servers`. */
  readonly adminToken: string
  /** Starts the server of a user; resolves when it answers. A user `narrow…` has a token without `access:servers`. */
  server(username: string): Promise<SingleUser>
  /** The user as the Hub's REST API describes them. */
  user(username: string): Promise<HubUser>
}

/** A part of JupyterHub's "User". */
export interface HubUser {
  readonly last_activity: string | null
  readonly servers: Readonly<Record<string, { readonly ready: boolean; readonly last_activity: string | null }>>
}

export interface LocalHubOptions {
  readonly version: HubVersion
  /** The folder of an open run. */
  readonly stateDir: string
  /** Arguments for the Hub: they override its configuration file. */
  readonly args?: readonly string[]
  /** How often servers tell the Hub of activity. Default: JupyterHub's, 5 minutes. */
  readonly activitySeconds?: number
}

/** Starts a Hub on loopback. Its servers have JupyterHub's package of the same version. All end with the run. */
export async function startLocalHub(options: LocalHubOptions): Promise<LocalHub> {
  const { version, stateDir, args = [], activitySeconds } = options
  const progress = createProgress()
  await setup(['python'], progress)
  const environment = await hubEnvironment(version, progress)
  const lab = await pythonEnvironment({ name: 'jupyterlab', requirements: labRequirements, progress })
  const [packages] = globSync(join(environment, 'lib', 'python3*', 'site-packages'))
  const token = randomBytes(32).toString('hex')
  const name = `local-hub${version}`
  const hub = await startHub({
    ...{ stateDir, name, environment, config, args, names: null, address: '127.0.0.1' },
    ...{ package: '', controllerUrl: '', token: '' },
    env: {
      ...{ HUB_ADMIN_TOKEN: token, LAB_ENVIRONMENT: lab, LAB_PYTHONPATH: packages! },
      ...(activitySeconds !== undefined && { LAB_ACTIVITY_SECONDS: String(activitySeconds) }),
    },
  })
  const api = new HubApi(hub.hubUrl, token)
  return {
    hub,
    adminToken: token,
    async server(username) {
      await api.start(username)
      return recordOf(join(stateDir, name, `${username}.json`), username)
    },
    user: username => api.user(username),
  }
}

/** The Hub's REST API, as its administrator. */
class HubApi {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(hubUrl: string, token: string) {
    this.#url = `${hubUrl}/hub/api`
    this.#headers = { authorization: `token ${token}` }
  }

  async start(username: string): Promise<void> {
    await this.#ask('POST', `users/${username}`)
    await this.#ask('POST', `users/${username}/server`)
    const isReady = async () => (await this.user(username)).servers['']?.ready === true
    await waitUntil(isReady, { what: `the server of ${username}`, limitMs: startLimitMs })
  }

  async user(username: string): Promise<HubUser> {
    return (await (await this.#ask('GET', `users/${username}`)).json()) as HubUser
  }

  async #ask(method: string, path: string): Promise<Response> {
    const response = await fetch(`${this.#url}/${path}`, { method, headers: this.#headers })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response
  }
}

function recordOf(file: string, username: string): SingleUser {
  const { env, port } = JSON.parse(readFileSync(file, 'utf8'))
  const { JUPYTERHUB_API_TOKEN: token, JUPYTERHUB_SERVICE_PREFIX: prefix, HOME: home } = env
  return { username, address: '127.0.0.1', port, prefix, token, home }
}
