/** Joins the cloud of the configuration. Its driver is loaded only where it is named. */
import type { Driver } from '../../clouds/driver.ts'
import { quotaGroupOf } from '../../clouds/ec2/requests.ts'
import { loopbackParameters } from '../../config/dispatch.ts'
import { ec2Parameters } from '../../config/dispatch-ec2.ts'
import { instanceSetIds, tagNames } from '../../dispatch/tags.ts'
import type { Basics } from '../basics.ts'

/** The longest call to a cloud that a former owner may still have in flight. */
export const longestCallMs = 30_000

export async function makeDriver({ config, settings, clock }: Basics): Promise<Driver> {
  const { CloudVMs } = config.dispatch!
  const { token, previousTokens } = settings.dispatch!
  const { instanceSetId } = tagNames(CloudVMs.TagKeyPrefix)
  const sets = { tag: instanceSetId, values: instanceSetIds(token, previousTokens) }
  if (CloudVMs.Driver === 'loopback') {
    const { createLoopbackDriver } = await import('../../clouds/loopback/driver.ts')
    const { Directory: directory } = loopbackParameters.parse(CloudVMs.DriverParameters)
    return createLoopbackDriver({ directory, sets, clock })
  }
  const { createEc2Driver } = await import('../../clouds/ec2/driver.ts')
  const parameters = ec2Parameters.parse(CloudVMs.DriverParameters)
  return createEc2Driver({ parameters, sets, clock, sshPort: CloudVMs.SSHPort, timeoutMs: longestCallMs })
}

/** Who logs in at machines; undefined: root. */
export function loginOf({ CloudVMs }: NonNullable<Basics['config']['dispatch']>): string | undefined {
  return CloudVMs.Driver === 'ec2' ? ec2Parameters.parse(CloudVMs.DriverParameters).AdminUsername : undefined
}

/** Types of a group share a quota of the cloud. */
export function groupingOf({ config }: Pick<Basics, 'config'>): (providerType: string, preemptible: boolean) => string {
  const { Driver, DriverParameters } = config.dispatch!.CloudVMs
  if (Driver === 'loopback') return () => 'this host'
  const { InstanceTypeQuotaGroups } = ec2Parameters.parse(DriverParameters)
  return (type, preemptible) => quotaGroupOf(type, preemptible, InstanceTypeQuotaGroups)
}
