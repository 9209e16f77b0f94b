/** Loads the settings of a process from a file and the environment. */
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../config/problems.ts'
import type { RedisLogin } from '../config/redis-login.ts'
import type { Config } from '../config/schema.ts'
import { parseYaml } from '../config/yaml.ts'
import type { VettedState } from '../tenants/vetting/state.ts'
import type { TlsFiles } from '../tls/files.ts'
import { type ApiFiles, readApiFiles, withoutApi } from './api-files.ts'
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
import { type Environment, type Run, readConfig } from './config-file.ts'
import { withCulling } from './culling.ts'
import { servesDispatch } from './dispatch-checks.ts'
import { type DispatchFiles, readDispatchFiles, withFullPaths } from './dispatch-files.ts'
import { FileReader } from './file-reader.ts'
import { servesGateway } from './gateway-checks.ts'
import { type LoginFiles, readLoginFiles, withoutLogin } from './gateway-files.ts'
import { readKeys, readSealingKeys } from './keys.ts'
import { type LabFiles, readLabFiles, withoutLabs } from './lab-files.ts'
import { readWebhookFiles } from './tls-files.ts'
import { readVetted } from './vetted.ts'

/** The configuration, extended by the environment and by the files that it names. Only this object contains secrets. */
export interface Settings extends LabFiles, ApiFiles {
  readonly config: Config
  /** Name of this replica: SKYLAB_REPLICA, or the host's name. */
  readonly replica: string
  /** As `sealingKeys`, of `gateway.keyFiles`. */
  readonly gatewayKeys: readonly Buffer[]
  /** Of `gateway.login`. */
  readonly gatewayLogin: LoginFiles
  readonly redisLogin: RedisLogin
  /** Of `tenants.vetting.files`. */
  readonly vetted: readonly VettedState[]
  /** Of `tenants.webhooks`, with full paths. They may be missing: then creations wait, and nothing else. */
  readonly webhookFiles?: TlsFiles
  /** The contents of `tracing.headersFile`. */
  readonly tracingHeaders: Readonly<Record<string, string>>
  /** The controller's own namespace: `kubernetes.namespace`, else its pod's, else `skylab`. */
  readonly namespace: string
  /** Where bills of tenants go; undefined if none are sent. */
  readonly billing?: BillingSettings | undefined
  /** Of the block `dispatch`, where `run` names it. */
  readonly dispatch?: DispatchFiles | undefined
  /** Permitted settings that an operator should know about. */
  readonly warnings: readonly string[]
}

export interface LoadOptions {
  /** What the command serves; the file may name the same, or nothing. Default: what the file says. */
  readonly run?: Run | undefined
  readonly podNamespaceFile?: string
}

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
  const redisLogin = await readRedisLogin(config, reader)
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

async function readRedisLogin({ redis }: Config, reader: FileReader): Promise<RedisLogin> {
  return {
    username: await reader.secret('redis.usernameFile', redis.usernameFile),
    password: await reader.secret('redis.passwordFile', redis.passwordFile),
    authorities: await reader.authorities('redis.caFile', redis.caFile),
  }
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
