/** Checks of the block `dispatch`, for a process that runs it. */
import type { DispatchConfig } from '../config/dispatch.ts'
import type { Config } from '../config/schema.ts'

/** A process for something else leaves the block alone. */
export const servesDispatch = ({ run }: Pick<Config, 'run'>): boolean => run.includes('dispatch')

/** @returns one line for each setting that cannot work */
export function dispatchProblems({
  dispatch,
  sealing,
  tenants: { billing },
}: Pick<Config, 'dispatch' | 'sealing' | 'tenants'>): string[] {
  if (!dispatch) return ['dispatch: is required by a process that runs dispatch']
  const { InstanceTypes, CloudVMs } = dispatch
  return [
    ...(Object.keys(InstanceTypes).length === 0
      ? ['dispatch.InstanceTypes: no type of machine, so no container would ever run']
      : []),
    ...(CloudVMs.Enable ? [] : ['dispatch.CloudVMs.Enable: is false, and run names dispatch']),
    ...(CloudVMs.Driver === 'ec2' && CloudVMs.ImageID === ''
      ? ['dispatch.CloudVMs.ImageID: is required by the driver ec2']
      : []),
    ...timeProblems(CloudVMs),
    ...arvadosProblems(dispatch),
    ...tagProblems(dispatch),
    ...amountProblems(dispatch, billing),
    ...fileProblems(dispatch, sealing.keyFiles),
  ]
}

type CloudVMs = DispatchConfig['CloudVMs']

/** The first would have happened after the second. */
const orders = [
  ['ProbeInterval', 'TimeoutProbe', 'every machine would be taken for dead'],
  ['ProbeInterval', 'TimeoutBooting', 'no machine would ever be ready'],
  ['TimeoutSignal', 'TimeoutTERM', 'no container would get a second SIGTERM'],
] as const

function timeProblems(cloudVMs: CloudVMs): string[] {
  return orders.flatMap(([short, long, consequence]) =>
    cloudVMs[short] < cloudVMs[long]
      ? []
      : [`dispatch.CloudVMs.${short}: is not less than dispatch.CloudVMs.${long}, so ${consequence}`],
  )
}

/** Every container there has an image in Keep. */
function arvadosProblems({ queue: { arvados }, Containers }: DispatchConfig): string[] {
  if (!arvados || Containers.RuntimeEngine === 'process' || Object.keys(arvados.images).length > 0) return []
  return ['dispatch.queue.arvados.images: is empty, so no container of Arvados could be run']
}

/** Tags by which machines are known, after `TagKeyPrefix`. */
const ownTags = ['InstanceSetID', 'InstanceType', 'InstanceSecret', 'IdleBehavior', 'Intent', 'HostKey', 'Tenant']
const isOwnTag = (name: string, prefix: string): boolean =>
  ownTags.some(own => `${prefix}${own}` === name) || name.startsWith(billingTagOf(prefix))
const billingTagOf = (prefix: string) => `${prefix}Billing-`

/** At most so many characters has the key of a tag of EC2. */
const longestTag = 128

function tagProblems({ CloudVMs: { ResourceTags, TagKeyPrefix }, billingTags }: DispatchConfig): string[] {
  const billing = billingTagOf(TagKeyPrefix)
  return [
    ...Object.keys(ResourceTags).flatMap(name =>
      isOwnTag(name, TagKeyPrefix) ? [`dispatch.CloudVMs.ResourceTags.${name}: is a tag of Skylab’s own`] : [],
    ),
    ...billingTags.flatMap((key, index) =>
      billing.length + key.length > longestTag
        ? [`dispatch.billingTags.${index}: is more than ${longestTag} characters with ${billing} before it`]
        : [],
    ),
  ]
}

function amountProblems(
  { billAmounts, tenantsKeyPrefix }: DispatchConfig,
  billing: Config['tenants']['billing'],
): string[] {
  if (!billAmounts) return []
  return [
    ...(tenantsKeyPrefix === undefined
      ? ['dispatch.billAmounts: needs dispatch.tenantsKeyPrefix: without it no container is of a tenant']
      : []),
    ...(billing?.driver === 'postgres'
      ? []
      : [
          `dispatch.billAmounts: needs tenants.billing with driver: postgres${billing ? `, not ${billing.driver}` : ''}`,
        ]),
  ]
}

/** Whoever reads one of these files must not have the others. */
function fileProblems(dispatch: DispatchConfig, sealingFiles: readonly string[]): string[] {
  const { tokenFile, previousTokenFiles, managementTokenFile, Containers, queue } = dispatch
  const named: readonly (readonly [key: string, file: string | undefined])[] = [
    ['dispatch.tokenFile', tokenFile],
    ...previousTokenFiles.map((file, index) => [`dispatch.previousTokenFiles.${index}`, file] as const),
    ['dispatch.managementTokenFile', managementTokenFile],
    ['dispatch.Containers.DispatchPrivateKey', Containers.DispatchPrivateKey],
    ['dispatch.queue.arvados.tokenFile', queue.arvados?.tokenFile],
  ]
  return named.flatMap(([key, file], index) => {
    if (file === undefined) return []
    if (sealingFiles.includes(file)) return [`${key}: is also a file of sealing.keyFiles`]
    const other = named.slice(0, index).find(([, each]) => each === file)
    return other ? [`${key}: is the file of ${other[0]} too`] : []
  })
}

/** @returns warnings: permitted settings that an operator should know about */
export function dispatchWarnings({ dispatch, tenants: { rest } }: Pick<Config, 'dispatch' | 'tenants'>): string[] {
  if (!dispatch) return []
  const { CloudVMs, Containers, InstanceTypes, managementTokenFile, queue } = dispatch
  const free = Object.entries(InstanceTypes).filter(([, { Price }]) => Price === 0)
  return [
    ...(managementTokenFile === undefined
      ? ['dispatch.managementTokenFile: is missing, so /arvados/v1/dispatch answers 403 to everybody']
      : []),
    ...(CloudVMs.Driver === 'loopback'
      ? ['dispatch.CloudVMs.Driver: loopback runs what users send on this very host, and is for demos and tests']
      : []),
    ...(Containers.RuntimeEngine === 'process'
      ? [
          'dispatch.Containers.RuntimeEngine: process runs commands on machines without an image, as root, beside what others left there',
        ]
      : []),
    ...(CloudVMs.TagSecret === 'plain' && CloudVMs.Driver === 'ec2'
      ? ['dispatch.CloudVMs.TagSecret: is plain, so whoever may read tags of the account can pass for a machine']
      : []),
    ...(CloudVMs.DeployPublicKey ? [] : ['dispatch.CloudVMs.DeployPublicKey: has no effect: machines get the key']),
    ...(Containers.RuntimeEngine === 'process' && Object.keys(queue.arvados?.images ?? {}).length > 0
      ? ['dispatch.queue.arvados.images: has no effect, since the engine process runs no images']
      : []),
    ...tenancyWarnings(dispatch, rest),
    ...('SecretAccessKey' in CloudVMs.DriverParameters
      ? ['dispatch.CloudVMs.DriverParameters.SecretAccessKey: is a secret in the configuration; name a file instead']
      : []),
    ...free.map(([name]) => `dispatch.InstanceTypes.${name}.Price: is 0, so it is taken before all others`),
  ]
}

/** By which nobody is of a tenant that the configuration names. */
function tenancyWarnings(
  { tenants, tenantsKeyPrefix, billingTags }: DispatchConfig,
  rest: Config['tenants']['rest'],
): string[] {
  const named = Object.keys(tenants).filter(name => name !== 'default')
  if (tenantsKeyPrefix === undefined) {
    const without = [...named.map(name => `tenants.${name}`), ...(billingTags.length > 0 ? ['billingTags'] : [])]
    return without.map(key => `dispatch.${key}: has no effect without dispatch.tenantsKeyPrefix`)
  }
  if (named.length === 0)
    return ['dispatch.tenantsKeyPrefix: has no effect, since dispatch.tenants names no LNamespace']
  return rest?.usernameTemplate === undefined && rest?.groupTemplate === undefined
    ? ['tenants.rest.usernameTemplate: is missing, so nobody is known to be in an LNamespace of dispatch.tenants']
    : []
}

/** @returns a warning if the block is there for nothing */
export const unusedDispatch = ({ dispatch }: Pick<Config, 'dispatch'>): string[] =>
  dispatch ? ['dispatch: has no effect, since run does not name dispatch'] : []
