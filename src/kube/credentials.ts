/**
 * Credentials for the API server, and the authorities that may vouch for it. `KubeConfig` reads kubeconfigs,
 * ServiceAccount mounts and exec plugins. This file decides when it reads, so that a rotated token or CA is used.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { dirname, resolve } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { parse } from 'yaml'
import type { Clock } from '../base/clock.ts'
import { NeedsSomeone } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

/** TLS settings in the form that `tls.connect` accepts. */
export interface TlsSettings {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

export interface Credentials {
  /** URL of the API server, without a slash at its end. */
  readonly server: string
  /** Sent with every request; holds the secret. */
  readonly headers: Readonly<Record<string, string>>
  readonly tls: TlsSettings
  /** Equal for credentials that may share connections. */
  readonly connectionKey: string
}

export interface CredentialsOptions {
  /** Path of a kubeconfig. Without it the pod's own ServiceAccount is used, never a file in a home directory. */
  readonly kubeconfig?: string | undefined
  /** Default: the kubeconfig's current one. */
  readonly context?: string | undefined
  readonly clock: Clock
  readonly log: Log
}

/** Files are read again at this interval. Kubelets replace a token minutes before it expires. */
const refreshMs = 10_000
/** Refused credentials are read again at most this often: an exec plugin may take a second. */
const refusalGapMs = 1_000

export class CredentialSource {
  readonly #options: CredentialsOptions
  #config: KubeConfig | undefined
  #text = ''
  #current: Credentials | undefined
  #readAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<Credentials> | undefined

  constructor(options: CredentialsOptions) {
    this.#options = options
  }

  /**
   * The credentials to use now. If they cannot be read again, the last ones remain in use.
   * @throws {NeedsSomeone} when none could ever be read
   */
  current(): Promise<Credentials> {
    const ageMs = this.#options.clock.monotonicMs() - this.#readAtMs
    if (this.#current && ageMs < refreshMs) return Promise.resolve(this.#current)
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Reports that the server refused these credentials: all are read anew, unless they were since. */
  refuse(refused: Credentials): void {
    const ageMs = this.#options.clock.monotonicMs() - this.#readAtMs
    if (this.#reading || refused !== this.#current || ageMs < refusalGapMs) return
    this.#config = undefined
    this.#readAtMs = Number.NEGATIVE_INFINITY
  }

  async #read(): Promise<Credentials> {
    try {
      const next = await describe(this.#load())
      // If nothing has changed the object stays the same, so that `refuse` can recognize it.
      if (!this.#current || !same(this.#current, next)) this.#current = next
    } catch (error) {
      if (!this.#current) throw new NeedsSomeone(`no credentials for Kubernetes: ${message(error)}`, { cause: error })
      this.#options.log.warn({ reason: message(error) }, 'credentials for Kubernetes could not be read again')
    }
    this.#readAtMs = this.#options.clock.monotonicMs()
    return this.#current
  }

  /** Keeps the KubeConfig while its file is unchanged, since it caches results of exec plugins. */
  #load(): KubeConfig {
    const { kubeconfig, context } = this.#options
    if (kubeconfig === undefined) {
      this.#config ??= loadServiceAccount()
      return this.#config
    }
    const text = readFileSync(kubeconfig, 'utf8')
    if (!this.#config || text !== this.#text) this.#config = loadKubeconfig(text, kubeconfig, context)
    this.#text = text
    return this.#config
  }
}

function loadServiceAccount(): KubeConfig {
  if (!process.env.KUBERNETES_SERVICE_HOST) {
    throw new Error('this is no pod of a cluster, and kubernetes.kubeconfig names no file')
  }
  const config = new KubeConfig()
  config.loadFromCluster()
  return config
}

function loadKubeconfig(text: string, path: string, context: string | undefined): KubeConfig {
  const config = new KubeConfig()
  config.loadFromString(text)
  config.makePathsAbsolute(dirname(path))
  if (context !== undefined) config.setCurrentContext(context)
  const name = config.getCurrentContext()
  if (!config.getContextObject(name)) throw new Error(`${path} has no context "${name}"`)
  if (!config.getCurrentCluster()) throw new Error(`the cluster of context "${name}" is missing in ${path}`)
  if (config.getCurrentCluster()?.proxyUrl) throw new Error(`${path} asks for a proxy, which is not supported`)
  adoptTokenFile(config, text, path)
  return config
}

/** KubeConfig ignores `tokenFile`, kubectl's key for a rotating token; this sets its own key, which it reads again. */
function adoptTokenFile(config: KubeConfig, text: string, path: string): void {
  const user = config.getCurrentUser()
  const document = parse(text) as { users?: { name?: string; user?: { tokenFile?: string } }[] }
  const tokenFile = document.users?.find(entry => entry.name === user?.name)?.user?.tokenFile
  if (!user || !tokenFile) return
  const index = config.users.indexOf(user)
  const authProvider = { name: 'tokenFile', config: { tokenFile: resolve(dirname(path), tokenFile) } }
  config.users[index] = { name: user.name, authProvider }
}

async function describe(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions & { headers: Record<string, string> } = { headers: {} }
  await config.applyToHTTPSOptions(options)
  const server = config.getCurrentCluster()!.server
  const headers = Object.fromEntries(Object.entries(options.headers).map(([name, value]) => [name, value.trim()]))
  if (options.auth) headers.Authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`
  const tls = tlsSettings(options)
  return { server, headers, tls, connectionKey: fingerprint(server, tls) }
}

function tlsSettings(options: RequestOptions): TlsSettings {
  const { ca, cert, key, servername, rejectUnauthorized } = options
  const given = Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(([, value]) => value != null)
  return Object.fromEntries(given) as TlsSettings
}

function fingerprint(server: string, tls: TlsSettings): string {
  const hash = createHash('sha256').update(server)
  for (const [name, value] of Object.entries(tls)) hash.update(`\0${name}\0${value}`)
  return hash.digest('hex')
}

function same(a: Credentials, b: Credentials): boolean {
  return a.connectionKey === b.connectionKey && JSON.stringify(a.headers) === JSON.stringify(b.headers)
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
