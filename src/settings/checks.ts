/** Checks between keys of the configuration. */
import type { GafaelfawrConfig } from '../config/identity.ts'
import type { Config } from '../config/schema.ts'
import { appProblems, appWarnings, servesApps, servesAppsRest } from './app-checks.ts'
import { dispatchProblems, dispatchWarnings, servesDispatch, unusedDispatch } from './dispatch-checks.ts'
import { gatewayProblems, gatewayWarnings, servesGateway } from './gateway-checks.ts'
import { idleProblems, idleWarnings, ownedKinds } from './idle-checks.ts'
import { labProblems } from './lab-checks.ts'
import { labWarnings } from './lab-warnings.ts'
import { networkProblems, networkWarnings } from './network-checks.ts'
import { tenantProblems, tenantWarnings } from './tenant-checks.ts'

/** The sizes that SQR-066 ("Labs for bot users") promises to exist. */
const promisedSizes = ['small', 'medium', 'large']

/** @returns one line for each violated condition */
export function crossProblems(config: Config): string[] {
  const ofLabs = () => [
    ...identityProblems(config),
    ...imageProblems(config),
    ...labProblems(config),
    ...networkProblems(config),
    ...tlsProblems(config),
  ]
  // Administrators have no routes there, so their ingress is none of its business.
  const ofRest = () => [...identityProblems(config, [userProofs]), ...tlsProblems(config)]
  const ofAllRest = () => [...identityProblems(config), ...tlsProblems(config)]
  return [
    ...(servesLabs(config) ? ofLabs() : []),
    ...(servesTenants(config) ? tenantProblems(config) : []),
    ...(servesTenantsRest(config) ? ofRest() : []),
    ...(servesApps(config) ? appProblems(config) : []),
    ...(servesAppsRest(config) ? ofAllRest() : []),
    ...(servesNotebooksRest(config) ? ofAllRest() : []),
    ...(servesGateway(config) ? [...staticProblems(config), ...gatewayProblems(config), ...tlsProblems(config)] : []),
    ...(servesDispatch(config) ? [...dispatchProblems(config), ...ofAllRest()] : []),
    ...(ownedKinds(config.run).length > 0 ? idleProblems(config) : []),
    ...timeProblems(config),
    ...redisProblems(config),
    ...limitProblems(config),
    ...portProblems(config),
  ]
}

/** A process for something else leaves the blocks of labs, and the files that they name, alone. */
export const servesLabs = ({ run }: Pick<Config, 'run'>): boolean => run.includes('labs')

export const servesTenants = ({ run }: Pick<Config, 'run'>): boolean => run.includes('tenants')

/** Whether a process for tenants answers requests, and so must know who asks. */
export const servesTenantsRest = (config: Pick<Config, 'run' | 'tenants'>): boolean =>
  servesTenants(config) && config.tenants.rest !== undefined

/** A process for notebooks answers requests where it can know who asks. */
export const servesNotebooksRest = ({ run, identity }: Pick<Config, 'run' | 'identity'>): boolean =>
  run.includes('notebooks') && identity[identity.provider] !== undefined

/** @returns warnings: permitted settings that an operator should know about */
export function configWarnings(config: Config): string[] {
  return servesDispatch(config)
    ? [...dispatchWarnings(config), ...trustWarnings(config), ...tokenWarnings(config)]
    : [...warningsOfOthers(config), ...unusedDispatch(config)]
}

function warningsOfOthers(config: Config): string[] {
  const ofRest = () => [...trustWarnings(config), ...tokenWarnings(config)]
  const ofIdle = idleWarnings(config)
  if (servesTenants(config)) {
    return [...tenantWarnings(config), ...(servesTenantsRest(config) ? ofRest() : []), ...ofIdle]
  }
  if (servesApps(config)) return [...appWarnings(config), ...(servesAppsRest(config) ? ofRest() : []), ...ofIdle]
  if (servesGateway(config)) return [...gatewayWarnings(config), ...ofIdle]
  if (servesNotebooksRest(config)) return [...ofRest(), ...ofIdle]
  if (!servesLabs(config)) return ofIdle
  const missing = promisedSizes.filter(name => !Object.hasOwn(config.lab.sizes, name))
  return [
    ...missing.map(name => `lab.sizes: ${name} is missing, which the specification promises to bots`),
    ...trustWarnings(config),
    ...tokenWarnings(config),
    ...pullSecretWarnings(config),
    ...labWarnings(config),
    ...networkWarnings(config),
    ...ofIdle,
  ]
}

/** Labs get a copy of one key. Prepull pods name the Secret itself, of which kubelets read only the standard key. */
function pullSecretWarnings({ lab, images }: Config): string[] {
  if (!images.prepull.enabled) return []
  return lab.secrets.flatMap(({ pull, key }, index) =>
    pull && key !== '.dockerconfigjson'
      ? [`lab.secrets.${index}.key: is not .dockerconfigjson, so images behind it are not prepulled`]
      : [],
  )
}

/**
 * ID tokens and logout tokens are JWTs of the same issuer, so one with the same audience would pass as a bearer token.
 */
function tokenWarnings({ identity: { provider, oidc } }: Config): string[] {
  if (provider !== 'oidc' || oidc === undefined) return []
  const isTyped = /^(application\/)?at\+jwt$/i.test(oidc.tokenType ?? '')
  if (isTyped || oidc.authorizedParties.length > 0) return []
  return [
    'identity.oidc.tokenType: is not at+jwt, so any token of the issuer with this audience is taken; name authorizedParties where access tokens have no such type',
  ]
}

function trustWarnings({ identity: { provider, gafaelfawr } }: Config): string[] {
  if (provider !== 'gafaelfawr' || gafaelfawr?.trustWithoutSecret !== true) return []
  return ['identity.gafaelfawr.trustWithoutSecret: every client that reaches the port can claim any name']
}

/** @param needed the proofs that the ingresses of this process must have */
function identityProblems({ identity, api }: Config, needed: readonly Proofs[] = proofs): string[] {
  const { provider, gafaelfawr } = identity
  if (provider === 'static') return staticProblems({ identity })
  if (identity[provider] === undefined) return [`identity.${provider}: is required by the provider ${provider}`]
  if (provider !== 'gafaelfawr' || gafaelfawr === undefined) return []
  return ingressProblems(gafaelfawr, api, needed)
}

function staticProblems({ identity }: Pick<Config, 'identity'>): string[] {
  const lacks = identity.provider === 'static' && identity.static === undefined
  return lacks ? ['identity.static.file: is required by the provider static'] : []
}

/** The keys that list an ingress's proofs. */
const userProofs = ['userSecretFiles', 'userCertificateNames'] as const
const proofs = [userProofs, ['adminSecretFiles', 'adminCertificateNames']] as const
/** Labs need not report their activity, so this ingress need not exist. */
const labProofs = ['labSecretFiles', 'labCertificateNames'] as const
const allProofs = [...proofs, labProofs] as const
type Proofs = (typeof allProofs)[number]

function ingressProblems(gafaelfawr: GafaelfawrConfig, { tls }: Config['api'], needed: readonly Proofs[]): string[] {
  const block = 'identity.gafaelfawr'
  if (gafaelfawr.trustWithoutSecret) {
    const given = allProofs.flat().filter(key => gafaelfawr[key].length > 0)
    const names = given.map(key => `${block}.${key}`).join(' and ')
    return given.length === 0 ? [] : [`${block}.trustWithoutSecret: contradicts ${names}`]
  }
  // Routes of administrators have no token, so nothing else distinguishes the ingress from other clients in the
  // cluster.
  const unknown = needed.filter(([files, names]) => gafaelfawr[files].length + gafaelfawr[names].length === 0)
  const certified = allProofs.map(([, names]) => names).filter(names => gafaelfawr[names].length > 0)
  return [
    ...unknown.map(
      ([files]) => `${block}.${files}: no secret shared with this ingress (trustWithoutSecret: true needs no secrets)`,
    ),
    ...certified
      .filter(() => tls?.clientCaFile === undefined)
      .map(names => `${block}.${names}: needs api.tls.clientCaFile, whose authorities vouch for certificates`),
    ...sharedNames(gafaelfawr).map(
      ([key, of]) => `${block}.${key}: is also a name of the ${of} ingress; each ingress needs its own names`,
    ),
  ]
}

/** Names in certificates that an earlier ingress has, by their key and that ingress. */
function sharedNames(config: GafaelfawrConfig): readonly (readonly [key: string, of: string])[] {
  const { userCertificateNames: users, adminCertificateNames: admins, labCertificateNames: labs } = config
  const shared = (key: string, names: readonly string[], others: readonly string[], of: string) =>
    names.flatMap((name, index) => (others.includes(name) ? [[`${key}.${index}`, of] as const] : []))
  return [
    ...shared('adminCertificateNames', admins, users, 'users’'),
    ...shared('labCertificateNames', labs, users, 'users’'),
    ...shared('labCertificateNames', labs, admins, 'administrators’'),
  ]
}

/** Checks between keys of the block `images`. */
export function imageProblems({ images }: Pick<Config, 'images'>): string[] {
  return images.docker && images.gar ? ['images.gar: contradicts images.docker'] : []
}

function timeProblems({ engine, redis }: Config): string[] {
  const problems: string[] = []
  // A take-over is promised within the TTL and one scan; an owner stops by itself at two thirds of its TTL.
  if (engine.scanIntervalMs > engine.leaseTtlMs) problems.push('engine.scanIntervalMs: is more than engine.leaseTtlMs')
  if (redis.commandTimeoutMs * 3 > engine.leaseTtlMs) {
    problems.push('redis.commandTimeoutMs: is more than a third of engine.leaseTtlMs')
  }
  return problems
}

function redisProblems({ redis }: Config): string[] {
  const url = URL.parse(redis.url)
  const problems: string[] = []
  if (redis.caFile !== undefined && url?.protocol !== 'rediss:') {
    problems.push('redis.caFile: has no effect unless redis.url is a rediss:// address')
  }
  if (redis.usernameFile !== undefined && url?.username) {
    problems.push('redis.usernameFile: contradicts the name in redis.url')
  }
  return problems
}

function tlsProblems({ api: { tls } }: Config): string[] {
  return tls?.requireClientCertificate && tls.clientCaFile === undefined
    ? ['api.tls.requireClientCertificate: takes api.tls.clientCaFile']
    : []
}

function portProblems({ api: { port, monitoringPort } }: Config): string[] {
  return port !== 0 && port === monitoringPort ? ['api.monitoringPort: is api.port too'] : []
}

/**
 * Number of properties and elements of a create besides its variables: two blocks, and eight options as lists of one.
 */
const createItems = 18

function limitProblems({ api: { heartbeatSeconds, limits } }: Config): string[] {
  const problems: string[] = []
  // The server would not start.
  if (limits.headersTimeoutSeconds > limits.requestTimeoutSeconds) {
    problems.push('api.limits.headersTimeoutSeconds: is more than api.limits.requestTimeoutSeconds')
  }
  // Every silent event stream would be cut.
  if (limits.stallTimeoutSeconds <= heartbeatSeconds) {
    problems.push('api.limits.stallTimeoutSeconds: is not more than api.heartbeatSeconds')
  }
  if (limits.maxBodyBytes > limits.maxBodyBytesInFlight) {
    problems.push('api.limits.maxBodyBytes: is more than api.limits.maxBodyBytesInFlight')
  }
  // A create with the largest number of variables would be refused for its other properties.
  if (limits.maxJsonItems < limits.maxEnvEntries + createItems) {
    problems.push(`api.limits.maxJsonItems: is less than api.limits.maxEnvEntries and ${createItems} more`)
  }
  return problems
}
