/** The environment of a lab: three layers, merged, then divided into plain and secret variables. Pure. */

import type { LabOptions, Quotas, ResolvedImage } from '../base/domain.ts'
import { invalid } from '../base/errors.ts'
import { mask, secretTest } from '../base/secret-env.ts'
import type { Config } from '../config/schema.ts'

export type Env = Readonly<Record<string, string>>

/** The inputs of an environment. */
export interface EnvSources {
  readonly lab: Pick<Config['lab'], 'env' | 'secretPatterns' | 'servicePrefix'>
  /** From the request. */
  readonly env: Env
  readonly options: LabOptions
  readonly quotas: Quotas
  readonly image: ResolvedImage
  /** Absolute path. */
  readonly home: string
}

/** The environment of a lab. */
export interface LabEnv {
  /** For the ConfigMap. */
  readonly plain: Env
  /** For the Secret of the same name. */
  readonly secret: Env
  /** Path under which the lab answers; begins and ends with a slash. */
  readonly servicePrefix: string
}

/** The port on which every lab listens, on all addresses of its pod. */
export const labPort = 8888

const prefixVariable = 'JUPYTERHUB_SERVICE_PREFIX'
/** Visible ASCII, without characters that end a path. */
const pathForm = /^\/[!-"$->@-~]*$/

/** Whether a path can be a service prefix: true for exactly those that `labEnv` makes. */
export const isServicePrefix = (path: string): boolean => pathForm.test(path) && path.endsWith('/')

/**
 * The environment of a lab. The controller's settings override the request's; the configuration's override both
 * (SQR-066, "Environment"). HOME alone is fixed: image and request cannot change it.
 * @throws {ApiError} 422 when the service prefix is not a path
 */
export function labEnv(sources: EnvSources): LabEnv {
  const given = { [prefixVariable]: sources.lab.servicePrefix, ...sources.env, ...sources.lab.env }
  const servicePrefix = checkPrefix(given[prefixVariable])
  const env: Env = { ...given, ...controllerEnv(sources, servicePrefix), ...sources.lab.env, HOME: sources.home }
  const isSecret = secretTest(sources.lab.secretPatterns)
  const [plain, secret]: [[string, string][], [string, string][]] = [[], []]
  for (const name of Object.keys(env).sort()) {
    const value = env[name]!
    const part = isSecret(name, value) ? secret : plain
    part.push([name, value])
  }
  return { plain: Object.fromEntries(plain), secret: Object.fromEntries(secret), servicePrefix }
}

/** An environment to show to its user: all names, with secret values masked. */
export function maskedEnv(env: Env, secretPatterns: readonly string[]): Env {
  const isSecret = secretTest(secretPatterns)
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, isSecret(name, value) ? mask : value]))
}

/** The Hub's single-user server takes its address from the service URL, whatever the Hub has recorded. */
function controllerEnv({ options, quotas, image }: EnvSources, servicePrefix: string): Env {
  const { limits, requests } = quotas
  return {
    JUPYTERHUB_SERVICE_URL: `http://0.0.0.0:${labPort}${servicePrefix}`,
    MEM_LIMIT: String(limits.memory),
    MEM_GUARANTEE: String(requests.memory),
    CPU_LIMIT: String(limits.cpu),
    CPU_GUARANTEE: String(requests.cpu),
    ...(image.digest !== null && { IMAGE_DIGEST: image.digest }),
    IMAGE_DESCRIPTION: image.description,
    ...(options.enable_debug && { DEBUG: 'TRUE' }),
    ...(options.reset_user_env && { RESET_USER_ENV: 'TRUE' }),
  }
}

function checkPrefix(path: string): string {
  if (!pathForm.test(path)) throw invalid('is no path that begins with a slash', 'body', 'env', prefixVariable)
  return path.endsWith('/') ? path : `${path}/`
}
