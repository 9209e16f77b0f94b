/** Loads the settings of a process from a file and the environment. */
import { X509Certificate } from 'node:crypto'
import { access, constants, readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, isAbsolute, resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError, schemaProblems } from '../config/problems.ts'
import type { RedisLogin } from '../config/redis-login.ts'
import { type Config, configSchema } from '../config/schema.ts'
import { parseYaml } from '../config/yaml.ts'
import { type IngressSecrets, isIngressSecret } from '../identity/ingress.ts'
import { parseTokens, type TokenRecord } from '../identity/tokens.ts'
import type { VettedState } from '../tenants/vetting/state.ts'
import { type Pair, readPair, type TlsFiles, UnusableFile } from '../tls/files.ts'
import { servesAppsRest } from './app-checks.ts'
import { type BillingSettings, billingProblems, billingWarnings, readBilling, withBillingOf } from './billing.ts'
import {
  configWarnings,
  crossProblems,
  servesLabs,
  servesNotebooksRest,
  servesTenants,
  servesTenantsRest,
} from './checks.ts'
import { withCulling } from './culling.ts'
import { servesDispatch } from './dispatch-checks.ts'
import { type DispatchFiles, readDispatchFiles, withFullPaths } from './dispatch-files.ts'
import { servesGateway } from './gateway-checks.ts'
import { type LoginFiles, readLoginFiles, withoutLogin } from './gateway-files.ts'
import { readText } from './source.ts'
import { readVetted } from './vetted.ts'

const keyBytes = 32

/** The configuration, extended by the environment and by the files that it names. Only this object contains secrets. */
export interface Settings {
  readonly config: Config
  /** Name of this replica: SKYLAB_REPLICA, or the host's name. */
  readonly replica: string
  /** 32 bytes each. The first key seals; all keys open. */
  readonly sealingKeys: readonly Buffer[]
  /** The same of `gateway.keyFiles`. */
  readonly gatewayKeys: readonly Buffer[]
  /** Of `gateway.login`. */
  readonly gatewayLogin: LoginFiles
  readonly redisLogin: RedisLogin
  /** Of `tenants.vetting.files`. */
  readonly vetted: readonly VettedState[]
  /** The files of `api.tls`: their full paths and current contents. */
  readonly apiTls?: ApiTls
  /** Of `tenants.webhooks`, with full paths. They may be missing: then creations wait, and nothing else. */
  readonly webhookFiles?: TlsFiles
  /** The contents of `tracing.headersFile`. */
  readonly tracingHeaders: Readonly<Record<string, string>>
  /** The entries of the file of the `static` identity provider. */
  readonly tokens: readonly TokenRecord[]
  /** For the provider `gafaelfawr`: the secrets by which each ingress is known. */
  readonly ingressSecrets: IngressSecrets
  /** PEM of `images.caFile`. */
  readonly registryAuthorities?: string
  /** The contents of `images.credentialsFile`, known to be a JSON object. */
  readonly registryCredentials?: string
  /** The controller's own namespace: `kubernetes.namespace`, else its pod's, else `skylab`. */
  readonly namespace: string
  /** Where bills of tenants go; undefined if none are sent. */
  readonly billing?: BillingSettings | undefined
  /** Of the block `dispatch`, where `run` names it. */
  readonly dispatch?: DispatchFiles | undefined
  /** Permitted settings that an operator should know about. */
  readonly warnings: readonly string[]
}

export interface ApiTls {
  readonly files: TlsFiles
  readonly first: Pair
}

export interface LoadOptions {
  /** What the command serves; the file may name the same, or nothing. Default: what the file says. */
  readonly run?: Run | undefined
  readonly podNamespaceFile?: string
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads and checks the configuration and every file that it names; paths in it are relative to its own folder.
 * The environment overrides: SKYLAB_PORT, SKYLAB_MONITORING_PORT, SKYLAB_REPLICA, SKYLAB_SEALING_KEY. Of a process for notebooks
 * it adds what `culling.ts` says, and of one for tenants what `billing.ts` says.
 * @throws {ConfigError} with all problems found
 */
export async function loadSettings(
  file: string,
  env: Environment,
  { run, podNamespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace' }: LoadOptions = {},
): Promise<Settings> {
  const envProblems: string[] = []
  const { config, warnings } = withEnvironment(await readConfig(file, run), env, envProblems)
  const problems = [...envProblems, ...crossProblems(config), ...billingProblems(config, env)]
  const reader = new FileReader(dirname(resolve(file)), problems)
  // The others' secrets are not there.
  const ofLabs = servesLabs(config) ? await readLabFiles(config, env, reader, problems) : withoutLabs
  const ofDispatch: Partial<Pick<Settings, 'sealingKeys' | 'dispatch'>> = servesDispatch(config)
    ? {
        sealingKeys: await readSealingKeys(config, env, reader, problems),
        dispatch: await readDispatchFiles(config, reader, problems),
      }
    : {}
  const answers =
    servesLabs(config) ||
    servesTenantsRest(config) ||
    servesNotebooksRest(config) ||
    servesAppsRest(config) ||
    servesDispatch(config) ||
    servesGateway(config)
  const gatewayKeys = servesGateway(config)
    ? await readKeys('gateway.keyFiles', config.gateway.keyFiles, reader, problems)
    : []
  const ofApi = answers ? await readApiFiles(config, reader, problems) : withoutApi
  const gatewayLogin = servesGateway(config)
    ? await readLoginFiles(config, ofApi.ingressSecrets, reader, problems)
    : withoutLogin
  const redisLogin = await readRedisLogin(config, reader, problems)
  const vetted = await readVetted(config, reader, problems)
  const webhooks = servesTenants(config) ? await readWebhookFiles(config, reader) : undefined
  const kubeconfig = await reader.present('kubernetes.kubeconfig', config.kubernetes.kubeconfig)
  const tracingHeaders = await readTracingHeaders(config, reader, problems)
  const billing = await readBilling(config, env, {
    present: (key, path) => reader.present(key, path),
    writable: (key, path) => reader.writable(key, path),
    authorities: (key, path) => reader.authorities(key, path),
  })
  const auditFile = await reader.writable('audit.file', config.audit.file)
  if (problems.length > 0) throw new ConfigError(file, problems)
  return {
    config: {
      ...config,
      kubernetes: { ...config.kubernetes, ...(kubeconfig !== undefined && { kubeconfig }) },
      audit: { ...config.audit, ...(auditFile !== undefined && { file: auditFile }) },
      ...(ofDispatch.dispatch && { dispatch: withFullPaths(config.dispatch!, ofDispatch.dispatch) }),
    },
    replica: env.SKYLAB_REPLICA || hostname(),
    ...ofLabs,
    ...ofDispatch,
    ...ofApi,
    ...{ gatewayKeys, gatewayLogin, redisLogin, vetted, billing },
    ...(webhooks && { webhookFiles: webhooks.files }),
    tracingHeaders,
    namespace: config.kubernetes.namespace ?? (await podNamespace(podNamespaceFile)),
    warnings: [...warnings, ...configWarnings(config), ...billingWarnings(config, env), ...(webhooks?.warnings ?? [])],
  }
}

/**
 * Checks the file alone, without the files that it names: these are missing where a site is reviewed.
 * @returns warnings
 * @throws {ConfigError} with all problems found
 */
export async function checkWithoutSecrets(file: string, env: Environment): Promise<readonly string[]> {
  const problems: string[] = []
  const { config, warnings } = withEnvironment(await readConfig(file), env, problems)
  problems.push(...crossProblems(config), ...billingProblems(config, env))
  if (problems.length > 0) throw new ConfigError(file, problems)
  return [...warnings, ...configWarnings(config), ...billingWarnings(config, env)]
}

const withEnvironment = (config: Config, env: Environment, problems: string[]) =>
  withCulling(withBillingOf(env, withPorts(config, env, problems)), env)

export type Run = Config['run'][number]

/**
 * The configuration of a file, with each key checked by itself.
 * @param run what is served; the file may name the same, or nothing
 * @throws {ConfigError}
 */
export async function readConfig(file: string, run?: Run): Promise<Config> {
  const value = await readYaml(file)
  const parsed = configSchema.safeParse(run === undefined ? value : withRun(file, value, run))
  if (!parsed.success) throw new ConfigError(file, schemaProblems(parsed.error))
  return parsed.data
}

function withRun(file: string, value: unknown, run: Run): unknown {
  if (typeof value !== 'object' || value === null) return value
  const named = 'run' in value ? JSON.stringify(value.run) : undefined
  if (named !== undefined && named !== JSON.stringify([run])) {
    throw new ConfigError(file, [`run: is ${named}, and the command serves ${run}`])
  }
  return { ...value, run: [run] }
}

/**
 * The value in a YAML file; an empty file has none.
 * @throws {ConfigError}
 */
export async function readYaml(file: string): Promise<unknown> {
  const text = await readText(file)
  const yaml = parseYaml(text)
  if ('problems' in yaml) throw new ConfigError(file, yaml.problems)
  return yaml.value ?? {}
}

/** Reads files that keys of the configuration name. A file that cannot be read is one more problem. */
export class FileReader {
  readonly #folder: string
  readonly #problems: string[]

  constructor(folder: string, problems: string[]) {
    this.#folder = folder
    this.#problems = problems
  }

  /** The text of a file, or undefined when none is named or it cannot be read. */
  async text(key: string, path: string | undefined): Promise<string | undefined> {
    if (path === undefined) return undefined
    return this.#attempt(key, path, full => readFile(full, 'utf8'))
  }

  /** As `text`, without the newline that editors leave at the end. */
  async secret(key: string, path: string | undefined): Promise<string | undefined> {
    const text = (await this.text(key, path))?.replace(/\r?\n$/, '')
    if (text === '') this.#problems.push(`${key}: the file is empty`)
    return text
  }

  /** Certificates of authorities, as PEM. */
  authorities(key: string, path: string | undefined): Promise<string | undefined> {
    return readAuthorities(key, path, this, this.#problems)
  }

  path(path: string): string {
    return resolve(this.#folder, path)
  }

  /** The full path of a file that is read later, by others. */
  async present(key: string, path: string | undefined): Promise<string | undefined> {
    if (path === undefined) return undefined
    return this.#attempt(key, path, full => access(full, constants.R_OK).then(() => full))
  }

  /** The full path of a file that is appended to later. It may be missing if its folder exists. */
  async writable(key: string, path: string | undefined): Promise<string | undefined> {
    if (path === undefined) return undefined
    const full = resolve(this.#folder, path)
    const found = await stat(full).catch(() => undefined)
    // A pipe without a reader would block the whole process.
    if (found && !found.isFile()) this.#problems.push(`${key}: is not a file`)
    await access(found ? full : dirname(full), constants.W_OK).catch(error => {
      this.#problems.push(`${key}: the file ${full} cannot be written (${error.code})`)
    })
    return full
  }

  async #attempt(key: string, path: string, read: (full: string) => Promise<string>): Promise<string | undefined> {
    try {
      return await read(resolve(this.#folder, path))
    } catch (error) {
      const where = await showable(path)
      this.#problems.push(`${key}: the file ${where}cannot be read (${(error as NodeJS.ErrnoException).code})`)
      return undefined
    }
  }
}

/** A path for messages, only if its folder exists: a secret may have been put in place of a path. */
async function showable(path: string): Promise<string> {
  const folder = dirname(path)
  if (!isAbsolute(path) || folder === '/') return ''
  const found = await stat(folder).catch(() => undefined)
  return found?.isDirectory() ? `${path} ` : ''
}

/** Kubernetes mounts this file into every pod with a token. Outside of a cluster there is none. */
async function podNamespace(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.trim() || 'skylab'
}

/** The configuration with the ports of the environment. */
function withPorts(config: Config, env: Environment, problems: string[]): Config {
  const portFrom = (name: string, configured: number): number => {
    const text = env[name]
    if (!text) return configured
    if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
    problems.push(`${name}: not a port`)
    return configured
  }
  const port = portFrom('SKYLAB_PORT', config.api.port)
  const monitoringPort = portFrom('SKYLAB_MONITORING_PORT', config.api.monitoringPort)
  return { ...config, api: { ...config.api, port, monitoringPort } }
}

type LabFiles = Pick<Settings, 'sealingKeys' | 'registryAuthorities' | 'registryCredentials'>

const withoutLabs: LabFiles = { sealingKeys: [] }

/** Reads the files that only a process for labs needs. */
async function readLabFiles(
  config: Config,
  env: Environment,
  reader: FileReader,
  problems: string[],
): Promise<LabFiles> {
  const sealingKeys = await readSealingKeys(config, env, reader, problems)
  const registryAuthorities = await reader.text('images.caFile', config.images.caFile)
  const registryCredentials = await readCredentials(config.images, reader, problems)
  return {
    sealingKeys,
    ...(registryAuthorities !== undefined && { registryAuthorities }),
    ...(registryCredentials !== undefined && { registryCredentials }),
  }
}

type ApiFiles = Pick<Settings, 'apiTls' | 'tokens' | 'ingressSecrets'>

const withoutApi: ApiFiles = { tokens: [], ingressSecrets: { user: [], admin: [], lab: [] } }

/** What a process reads that answers requests of users. */
async function readApiFiles(config: Config, reader: FileReader, problems: string[]): Promise<ApiFiles> {
  const apiTls = config.api.tls && (await readTls('api.tls', config.api.tls, reader, problems))
  const tokens = await readTokens(config, reader, problems)
  const ingressSecrets = await readIngressSecrets(config, reader, problems)
  return { ...{ tokens, ingressSecrets }, ...(apiTls !== undefined && { apiTls }) }
}

async function readSealingKeys(config: Config, env: Environment, reader: FileReader, problems: string[]) {
  const { keyFiles } = config.sealing
  const keys = [
    ...keysIn('SKYLAB_SEALING_KEY', env.SKYLAB_SEALING_KEY || undefined, problems),
    ...(await readKeys('sealing.keyFiles', keyFiles, reader, problems)),
  ]
  if (!env.SKYLAB_SEALING_KEY && keyFiles.length === 0) {
    problems.push('sealing.keyFiles: no sealing key, here or in SKYLAB_SEALING_KEY')
  }
  return keys
}

async function readKeys(name: string, files: readonly string[], reader: FileReader, problems: string[]) {
  const keys: Buffer[] = []
  for (const [index, path] of files.entries()) {
    const key = `${name}.${index}`
    keys.push(...keysIn(key, await reader.text(key, path), problems))
  }
  return keys
}

/** One, or none where there is no text, or it is no key. */
function keysIn(name: string, base64: string | undefined, problems: string[]): Buffer[] {
  if (base64 === undefined) return []
  const key = Buffer.from(base64, 'base64')
  // Buffer ignores characters that are not base64, so the key is encoded again and compared.
  if (key.length === keyBytes && key.toString('base64') === base64.trim()) return [key]
  problems.push(`${name}: not ${keyBytes} bytes in base64`)
  return []
}

async function readRedisLogin({ redis }: Config, reader: FileReader, problems: string[]): Promise<RedisLogin> {
  return {
    username: await reader.secret('redis.usernameFile', redis.usernameFile),
    password: await reader.secret('redis.passwordFile', redis.passwordFile),
    authorities: await readAuthorities('redis.caFile', redis.caFile, reader, problems),
  }
}

type NamedFiles = Pick<NonNullable<Config['api']['tls']>, keyof TlsFiles>

const tlsFilesOf = ({ certFile, keyFile, clientCaFile }: NamedFiles, reader: FileReader): TlsFiles => ({
  certFile: reader.path(certFile),
  keyFile: reader.path(keyFile),
  ...(clientCaFile !== undefined && { clientCaFile: reader.path(clientCaFile) }),
})

async function readTls(
  block: string,
  named: NamedFiles,
  reader: FileReader,
  problems: string[],
): Promise<ApiTls | undefined> {
  const files = tlsFilesOf(named, reader)
  try {
    return { files, first: await readPair(files) }
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error
    problems.push(`${block}.${error.key}: ${error.message}`)
    return undefined
  }
}

/** A pair that cannot be used is no reason to serve no tenants: revocations need no webhook. */
async function readWebhookFiles({ tenants: { webhooks } }: Config, reader: FileReader) {
  if (webhooks === undefined) return undefined
  const unusable: string[] = []
  await readTls('tenants.webhooks', webhooks, reader, unusable)
  return {
    files: tlsFilesOf(webhooks, reader),
    warnings: unusable.map(problem => `${problem}: webhooks are served once it can be used`),
  }
}

/** PEM of certificates, of which at least the first can be parsed. */
async function readAuthorities(key: string, path: string | undefined, reader: FileReader, problems: string[]) {
  const text = await reader.text(key, path)
  if (text === undefined) return undefined
  try {
    void new X509Certificate(text)
  } catch {
    problems.push(`${key}: the file has no certificate in PEM`)
  }
  return text
}

/** Valid names and values of headers, by RFC 9110. */
const headersSchema = z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/), z.string().regex(/^[\t\x20-\x7e]*$/))

async function readTracingHeaders(config: Config, reader: FileReader, problems: string[]) {
  const name = 'tracing.headersFile'
  const text = await reader.text(name, config.tracing.headersFile)
  if (text === undefined) return {}
  const yaml = parseYaml(text)
  const parsed = 'problems' in yaml ? undefined : headersSchema.safeParse(yaml.value)
  // The message quotes nothing: the file may have secrets, also in place of names.
  if (!parsed?.success) problems.push(`${name}: is not a YAML mapping of header names to values`)
  return parsed?.data ?? {}
}

/** The contents of `images.credentialsFile`. */
export async function readCredentials(
  { credentialsFile }: Pick<Config['images'], 'credentialsFile'>,
  reader: FileReader,
  problems: string[],
): Promise<string | undefined> {
  const key = 'images.credentialsFile'
  const text = await reader.text(key, credentialsFile)
  // The message quotes nothing: the file contains a secret.
  if (text !== undefined && !isJsonObject(text)) problems.push(`${key}: is no JSON object`)
  return text
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

async function readTokens(config: Config, reader: FileReader, problems: string[]): Promise<readonly TokenRecord[]> {
  if (config.identity.provider !== 'static') return []
  const text = await reader.text('identity.static.file', config.identity.static?.file)
  if (text === undefined) return []
  const parsed = parseTokens(text)
  if ('tokens' in parsed) return parsed.tokens
  problems.push(...parsed.problems.map(problem => `identity.static.file: ${problem}`))
  return []
}

async function readIngressSecrets(config: Config, reader: FileReader, problems: string[]): Promise<IngressSecrets> {
  const { provider, gafaelfawr } = config.identity
  if (provider !== 'gafaelfawr' || gafaelfawr === undefined) return { user: [], admin: [], lab: [] }
  /** The key at which each secret was found first. */
  const keys = new Map<string, string>()
  const readAll = async (name: 'userSecretFiles' | 'adminSecretFiles' | 'labSecretFiles') => {
    const secrets: string[] = []
    for (const [index, path] of gafaelfawr[name].entries()) {
      const key = `identity.gafaelfawr.${name}.${index}`
      const secret = await reader.secret(key, path)
      if (!secret) continue
      const other = keys.get(secret)
      if (!isIngressSecret(secret)) {
        problems.push(`${key}: must be 16 to 512 printable characters without spaces and commas`)
      } else if (other !== undefined && !other.includes(name)) {
        problems.push(`${key}: is the same secret as ${other}; each ingress needs secrets of its own`)
      } else secrets.push(secret)
      keys.set(secret, other ?? key)
    }
    return secrets
  }
  return {
    user: await readAll('userSecretFiles'),
    admin: await readAll('adminSecretFiles'),
    lab: await readAll('labSecretFiles'),
  }
}
