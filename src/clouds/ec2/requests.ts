/** Requests for machines, and machines as EC2 describes them. Pure. */
import { createHash } from 'node:crypto'
import type {
  _InstanceType,
  Instance as Ec2Instance,
  Filter,
  RunInstancesRequest,
  Tag,
  VolumeType,
} from '@aws-sdk/client-ec2'
import type { Ec2Parameters } from '../../config/dispatch-ec2.ts'
import type { Instance, InstanceState, Intent } from '../driver.ts'
import { userData } from './user-data.ts'

/** Which machines are ours. */
export interface OurSets {
  /** The key of the tag. */
  readonly tag: string
  /** Values of it: the present one, and those of earlier tokens. */
  readonly values: readonly string[]
}

/**
 * A token means the same request for ever, and a subnet is part of the request. EC2 takes 64 characters.
 * @param what of which there is one for an intent and a subnet
 */
export function tokenOf(intent: Intent, subnet: string, what: 'machine' | 'interface'): string {
  return createHash('sha256')
    .update(JSON.stringify([intent.token, subnet, what]))
    .digest('hex')
}

/** Types whose vCPUs AWS counts together; those on spot are counted apart. */
export function quotaGroupOf(type: string, preemptible: boolean, groups: Readonly<Record<string, string>>): string {
  const letters = /^[a-z]+/.exec(type.toLowerCase())?.[0] ?? type
  return `${groups[letters] ?? letters}${preemptible ? '-spot' : ''}`
}

const gibibyte = 2 ** 30

/** @param nic the interface that was made before */
export function runRequest(
  intent: Intent,
  subnet: string,
  nic: string | undefined,
  to: Ec2Parameters,
): RunInstancesRequest {
  const tags = tagsOf(intent.tags)
  return {
    ClientToken: tokenOf(intent, subnet, 'machine'),
    MinCount: 1,
    MaxCount: 1,
    ImageId: intent.image,
    InstanceType: intent.providerType as _InstanceType,
    UserData: userData(intent.initCommand, intent.publicKey, to.AdminUsername),
    NetworkInterfaces: [
      nic === undefined
        ? {
            DeviceIndex: 0,
            SubnetId: subnet,
            Groups: to.SecurityGroupIDs,
            AssociatePublicIpAddress: to.AddressKind === 'public',
            DeleteOnTermination: true,
          }
        : { DeviceIndex: 0, NetworkInterfaceId: nic },
    ],
    // Power-off from within ends a machine: a stopped one would cost on, and has lost its secret.
    InstanceInitiatedShutdownBehavior: 'terminate',
    // The secret is in the user data: programs that were tricked into a request, and containers, do not get it.
    MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
    TagSpecifications: [
      { ResourceType: 'instance', Tags: tags },
      { ResourceType: 'volume', Tags: tags },
    ],
    ...(to.IAMInstanceProfile !== undefined && { IamInstanceProfile: { Name: to.IAMInstanceProfile } }),
    ...(intent.preemptible && {
      InstanceMarketOptions: {
        MarketType: 'spot',
        SpotOptions: { InstanceInterruptionBehavior: 'terminate', SpotInstanceType: 'one-time' },
      },
    }),
    ...(intent.addedScratchBytes > 0 && {
      BlockDeviceMappings: [
        {
          DeviceName: '/dev/xvdt',
          Ebs: {
            DeleteOnTermination: true,
            VolumeSize: Math.ceil(intent.addedScratchBytes / gibibyte),
            VolumeType: to.EBSVolumeType as VolumeType,
          },
        },
      ],
    }),
  }
}

export const tagsOf = (tags: Readonly<Record<string, string>>): Tag[] =>
  Object.entries(tags).map(([Key, Value]) => ({ Key, Value }))

export const recordOf = (tags: readonly Tag[] | undefined): Record<string, string> =>
  Object.fromEntries((tags ?? []).map(({ Key = '', Value = '' }) => [Key, Value]))

/** EC2 lists by this filter. Its answer is compared again. */
export const ourFilter = ({ tag, values }: OurSets): Filter => ({ Name: `tag:${tag}`, Values: [...values] })

export function isOurs(tags: Readonly<Record<string, string>>, { tag, values }: OurSets): boolean {
  const set = tags[tag]
  return set !== undefined && values.includes(set)
}

const states: Readonly<Record<string, InstanceState>> = {
  pending: 'pending',
  running: 'running',
  'shutting-down': 'stopping',
  stopping: 'stopping',
  // Someone stopped it in the console. It is destroyed as one that does not answer.
  stopped: 'stopping',
  terminated: 'gone',
}

export function instanceOf(from: Ec2Instance, kind: Ec2Parameters['AddressKind'], port: number): Instance {
  const address = kind === 'public' ? from.PublicIpAddress : from.PrivateIpAddress
  return {
    id: from.InstanceId ?? '',
    address: address ? `${address}:${port}` : undefined,
    providerType: from.InstanceType ?? '',
    tags: recordOf(from.Tags),
    // A state of which we know nothing is no proof of an end.
    state: states[from.State?.Name ?? ''] ?? 'stopping',
  }
}
