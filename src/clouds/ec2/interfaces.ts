/** Network interfaces that are made before their machines (`SeparateNIC`). */
import {
  CreateNetworkInterfaceCommand,
  CreateTagsCommand,
  DeleteNetworkInterfaceCommand,
  DescribeNetworkInterfacesCommand,
  type NetworkInterface,
} from '@aws-sdk/client-ec2'
import type { Clock } from '../../base/clock.ts'
import type { Ec2Parameters } from '../../config/dispatch-ec2.ts'
import type { CloudCall, Intent, PreResource } from '../driver.ts'
import { CloudRefused, Unanswered } from '../errors.ts'
import { pagesOf } from './pages.ts'
import { isOurs, type OurSets, ourFilter, quotaGroupOf, recordOf, tagsOf, tokenOf } from './requests.ts'
import type { Sender } from './sender.ts'

const kind = 'network-interface'
/** EC2 does not tell when an interface was made. */
const createdTag = 'CreatedAt'
const pageSize = 1_000

export class Interfaces {
  readonly #sender: Sender
  readonly #sets: OurSets
  readonly #parameters: Ec2Parameters
  readonly #clock: Clock

  constructor(sender: Sender, sets: OurSets, parameters: Ec2Parameters, clock: Clock) {
    this.#sender = sender
    this.#sets = sets
    this.#parameters = parameters
    this.#clock = clock
  }

  /** Makes the interface of an intent in a subnet, or finds the one that an earlier attempt made. */
  async make(intent: Intent, subnet: string, call: CloudCall): Promise<PreResource> {
    const made = (await this.#ofIntent(intent, subnet, call)) ?? (await this.#create(intent, subnet, call))
    if (made.createdMs !== undefined) return made
    // Not in the request: attempts at other times would be other requests for the same token.
    const tags = { [createdTag]: new Date(this.#clock.wallMs()).toISOString() }
    const command = new CreateTagsCommand({ Resources: [made.id], Tags: tagsOf(tags) })
    await this.#sender.send(command, { call, action: 'CreateTags', writes: true })
    return { ...made, tags: { ...made.tags, ...tags }, createdMs: this.#clock.wallMs() }
  }

  async #create(intent: Intent, subnet: string, call: CloudCall): Promise<PreResource> {
    const command = new CreateNetworkInterfaceCommand({
      ClientToken: tokenOf(intent, subnet, 'interface'),
      SubnetId: subnet,
      Groups: this.#parameters.SecurityGroupIDs,
      Description: nameOf(intent, subnet),
      TagSpecifications: [{ ResourceType: 'network-interface', Tags: tagsOf(intent.tags) }],
    })
    const { providerType: type, preemptible } = intent
    const group = quotaGroupOf(type, preemptible, this.#parameters.InstanceTypeQuotaGroups)
    const about = { action: 'CreateNetworkInterface', writes: true, creates: true, type, group }
    try {
      const { NetworkInterface: made } = await this.#sender.send(command, { call, ...about })
      if (made?.NetworkInterfaceId) return resourceOf(made)
    } catch (error) {
      // The configuration has changed since. The interface that was made is listed soon.
      if (!(error instanceof CloudRefused && error.code === 'IdempotentParameterMismatch')) throw error
    }
    throw new Unanswered('EC2 has made the interface of this intent, and does not list it yet')
  }

  async #ofIntent(intent: Intent, subnet: string, call: CloudCall): Promise<PreResource | undefined> {
    const description = nameOf(intent, subnet)
    const found = await this.#list([{ Name: 'description', Values: [description] }], call)
    const own = found.find(each => each.Description === description && each.SubnetId === subnet)
    return own && resourceOf(own)
  }

  async subnetOf(id: string, call: CloudCall): Promise<string | undefined> {
    return (await this.#read(id, call))?.SubnetId
  }

  async orphans(call: CloudCall): Promise<readonly PreResource[]> {
    const found = await this.#list([{ Name: 'status', Values: ['available'] }], call)
    return found.filter(each => each.Status === 'available').map(resourceOf)
  }

  async remove({ id }: PreResource, call: CloudCall): Promise<void> {
    const found = await this.#read(id, call)
    // A machine has it by now: it is no orphan.
    if (!found || found.Attachment) return
    if (!isOurs(recordOf(found.TagSet), this.#sets)) throw new CloudRefused(`${id} is not of our set: it stays`)
    try {
      const command = new DeleteNetworkInterfaceCommand({ NetworkInterfaceId: id })
      await this.#sender.send(command, { call, action: 'DeleteNetworkInterface', writes: true })
    } catch (error) {
      if (!(error instanceof CloudRefused && isGone(error.code))) throw error
    }
  }

  async #read(id: string, call: CloudCall): Promise<NetworkInterface | undefined> {
    try {
      const command = new DescribeNetworkInterfacesCommand({ NetworkInterfaceIds: [id] })
      const answer = await this.#sender.send(command, { call, action: 'DescribeNetworkInterfaces' })
      return answer.NetworkInterfaces?.find(each => each.NetworkInterfaceId === id)
    } catch (error) {
      if (error instanceof CloudRefused && isGone(error.code)) return undefined
      throw error
    }
  }

  async #list(filters: { Name: string; Values: string[] }[], call: CloudCall): Promise<readonly NetworkInterface[]> {
    const all = await pagesOf(async token => {
      const command = new DescribeNetworkInterfacesCommand({
        Filters: [ourFilter(this.#sets), ...filters],
        MaxResults: pageSize,
        NextToken: token,
      })
      const answer = await this.#sender.send(command, { call, action: 'DescribeNetworkInterfaces' })
      return { items: answer.NetworkInterfaces ?? [], next: answer.NextToken }
    })
    return all.filter(each => isOurs(recordOf(each.TagSet), this.#sets))
  }
}

const isGone = (code: string | undefined) => code === 'InvalidNetworkInterfaceID.NotFound'

const nameOf = (intent: Intent, subnet: string) => `skylab ${tokenOf(intent, subnet, 'interface').slice(0, 32)}`

function resourceOf({ NetworkInterfaceId: id = '', TagSet }: NetworkInterface): PreResource {
  const tags = recordOf(TagSet)
  const createdMs = Date.parse(tags[createdTag] ?? '')
  return { kind, id, tags, createdMs: Number.isNaN(createdMs) ? undefined : createdMs }
}
