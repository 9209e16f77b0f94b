/** Joins the cloud of the configuration. Its driver is loaded only where it is named. */
import type { Clock } from '../../base/clock.ts'
import type { Driver } from '../../clouds/driver.ts'
import { quotaGroupOf } from '../../clouds/ec2/requests.ts'
import { loopbackParameters } from '../../config/dispatch.ts'
import { ec2Parameters } from '../../config/dispatch-ec2.ts'
import { instanceSetIds, tagNames } from '../../dispatch/tags.ts'
import type { Basics } from '../basics.ts'

/** The longest call to a cloud that a former owner may still have in flight. */
export const longestCallMs = 30_000

/** How old a listing of each cloud may be. AWS names no bound; minutes were seen. */
export const lagMs = { ec2: 60_000, loopback: 0 }

type Dispatch = NonNullable<Basics['config']['dispatch']>

export function makeDriver({ config, settings, clock }: Basics): Promise<Driver> {
  const { token, previousTokens } = settings.dispatch!
  return driverOf(config.dispatch!, instanceSetIds(token, previousTokens), clock)
}

/** @param values of the tag `InstanceSetID`: the driver sees and touches machines with one of them alone */
export async function driverOf({ CloudVMs }: Dispatch, values: readonly string[], clock: Clock): Promise<Driver> {
  const sets = { tag: tagNames(CloudVMs.TagKeyPrefix).instanceSetId, values }
  if (CloudVMs.Driver === 'loopback') {
    const { createLoopbackDriver } = await import('../../clouds/loopback/driver.ts')
    const { Directory: directory } = loopbackParameters.parse(CloudVMs.DriverParameters)
    return createLoopbackDriver({ directory, sets, clock })
  }
  const { createEc2Driver } = await import('../../clouds/ec2/driver.ts')
  const parameters = ec2Parameters.parse(CloudVMs.DriverParameters)
  return createEc2Driver({ parameters, sets, clock, sshPort: CloudVMs.SSHPort, timeoutMs: longestCallMs })
}

/** The user who logs in at machines; undefined: root. */
export function loginOf({ CloudVMs }: Dispatch): string | undefined {
  return CloudVMs.Driver === 'ec2' ? ec2Parameters.parse(CloudVMs.DriverParameters).AdminUsername : undefined
}

/** Types of a group share a quota of the cloud. */
export function groupingOf({ CloudVMs }: Dispatch): (providerType: string, preemptible: boolean) => string {
  const { Driver, DriverParameters } = CloudVMs
  if (Driver === 'loopback') return () => 'this host'
  const { InstanceTypeQuotaGroups } = ec2Parameters.parse(DriverParameters)
  return (type, preemptible) => quotaGroupOf(type, preemptible, InstanceTypeQuotaGroups)
}
