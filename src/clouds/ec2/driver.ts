/** The driver of Amazon EC2. It was never run on AWS: what it is tested with is in docs/dispatch-clouds.md. */
import {
  CreateTagsCommand,
  DescribeInstancesCommand,
  type DescribeInstancesRequest,
  DescribeSubnetsCommand,
  type Instance as Ec2Instance,
  RunInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2'
import type { Clock } from '../../base/clock.ts'
import type { Ec2Parameters } from '../../config/dispatch-ec2.ts'
import type { CloudCall, Driver, Instance, Intent, PreResource } from '../driver.ts'
import { CloudRefused, IntentOver, NoCapacity, RateLimited, Unanswered } from '../errors.ts'
import { Interfaces } from './interfaces.ts'
import { pagesOf } from './pages.ts'
import {
  instanceOf,
  isOurs,
  type OurSets,
  ourFilter,
  quotaGroupOf,
  recordOf,
  runRequest,
  tagsOf,
  tokenOf,
} from './requests.ts'
import { Sender } from './sender.ts'

export interface Ec2Options {
  readonly parameters: Ec2Parameters
  readonly sets: OurSets
  readonly clock: Clock
  /** Where machines listen for SSH. Default 22. */
  readonly sshPort?: number
  /** Limit of each request. Default 30 s. */
  readonly timeoutMs?: number
}

const pageSize = 1_000

export function createEc2Driver(options: Ec2Options): Driver {
  return new Ec2Driver(options)
}

class Ec2Driver implements Driver {
  readonly name = 'ec2'
  readonly idempotentCreate = true
  readonly prepare?: NonNullable<Driver['prepare']>
  readonly #parameters: Ec2Parameters
  readonly #sets: OurSets
  readonly #sshPort: number
  readonly #sender: Sender
  readonly #interfaces: Interfaces

  constructor({ parameters, sets, clock, sshPort = 22, timeoutMs = 30_000 }: Ec2Options) {
    this.#parameters = parameters
    this.#sets = sets
    this.#sshPort = sshPort
    this.#sender = new Sender({ parameters, clock, timeoutMs })
    this.#interfaces = new Interfaces(this.#sender, sets, parameters, clock)
    if (parameters.SeparateNIC) this.prepare = (intent, call) => this.#prepare(intent, call)
  }

  async #prepare(intent: Intent, call: CloudCall): Promise<readonly PreResource[]> {
    return this.#inTurn(intent, async subnet => [await this.#interfaces.make(intent, subnet, call)])
  }

  async create(intent: Intent, prepared: readonly PreResource[], call: CloudCall): Promise<Instance> {
    if (!isOurs(intent.tags, this.#sets)) throw new CloudRefused('the intent has no tag of our set')
    const nic = prepared[0]
    const nicSubnet = nic && (await this.#interfaces.subnetOf(nic.id, call))
    return this.#inTurn(
      nicSubnet && intent.place === undefined ? { ...intent, place: nicSubnet } : intent,
      async subnet => {
        await call.note?.(subnet)
        if (!this.#parameters.SeparateNIC) return this.#run(intent, subnet, undefined, call)
        const own = nic && nicSubnet === subnet ? nic : await this.#interfaces.make(intent, subnet, call)
        return this.#run(intent, subnet, own.id, call)
      },
    )
  }

  /** Tries one subnet after another, from the one that was tried last, while there is no room or no machine of the type. */
  async #inTurn<T>({ place }: Intent, attempt: (subnet: string) => Promise<T>): Promise<T> {
    const { SubnetID: subnets } = this.#parameters
    const begin = Math.max(subnets.indexOf(place ?? ''), 0)
    let refusal: NoCapacity | undefined
    for (const subnet of [...subnets.slice(begin), ...subnets.slice(0, begin)]) {
      try {
        return await attempt(subnet)
      } catch (error) {
        // The pace of calls ends this round. Its lesson counts, or every round would begin with the type that lacks capacity.
        if (error instanceof RateLimited && refusal) throw refusal
        if (!(error instanceof NoCapacity)) throw error
        refusal = error
      }
    }
    throw refusal ?? new CloudRefused('the configuration has no SubnetID')
  }

  async #run(intent: Intent, subnet: string, nic: string | undefined, call: CloudCall): Promise<Instance> {
    const { providerType: type, preemptible } = intent
    const request = runRequest(intent, subnet, nic, this.#parameters)
    const group = quotaGroupOf(type, preemptible, this.#parameters.InstanceTypeQuotaGroups)
    try {
      const about = { action: 'RunInstances', writes: true, creates: true, type, group }
      const { Instances: [made] = [] } = await this.#sender.send(new RunInstancesCommand(request), { call, ...about })
      if (!made?.InstanceId) throw new Unanswered('EC2 answers RunInstances without a machine')
      return this.#instance(made)
    } catch (error) {
      // The token made a machine before the configuration changed.
      if (error instanceof CloudRefused && error.code === 'IdempotentParameterMismatch')
        return this.#ofToken(tokenOf(intent, subnet, 'machine'), call)
      throw error
    }
  }

  async #ofToken(token: string, call: CloudCall): Promise<Instance> {
    const [found] = await this.#describe({ Filters: [{ Name: 'client-token', Values: [token] }] }, call)
    if (!found) throw new Unanswered('EC2 knows the token with other parameters, and does not list its machine yet')
    const instance = this.#instance(found)
    if (instance.state === 'gone') throw new IntentOver('the machine of this intent has ended')
    return instance
  }

  async list(call: CloudCall): Promise<readonly Instance[]> {
    const found = await pagesOf(async token => {
      const request = { Filters: [ourFilter(this.#sets)], MaxResults: pageSize, NextToken: token }
      const answer = await this.#sender.send(new DescribeInstancesCommand(request), {
        call,
        action: 'DescribeInstances',
      })
      return { items: instancesIn(answer.Reservations), next: answer.NextToken }
    })
    const byId = new Map(found.map(each => [each.InstanceId, this.#instance(each)]))
    return [...byId.values()].filter(({ tags }) => isOurs(tags, this.#sets))
  }

  async find(id: string, call: CloudCall): Promise<Instance | 'unknown'> {
    const found = await this.#read(id, call)
    const instance = found && this.#instance(found)
    return instance && isOurs(instance.tags, this.#sets) ? instance : 'unknown'
  }

  async missing(id: string, call: CloudCall): Promise<boolean> {
    if (await this.#read(id, call)) return false
    // With credentials of another account, or for another region, every machine would be missing.
    const command = new DescribeSubnetsCommand({ SubnetIds: [...this.#parameters.SubnetID] })
    const { Subnets = [] } = await this.#sender.send(command, { call, action: 'DescribeSubnets' })
    return this.#parameters.SubnetID.every(subnet => Subnets.some(({ SubnetId }) => SubnetId === subnet))
  }

  async setTags(id: string, tags: Readonly<Record<string, string>>, call: CloudCall): Promise<void> {
    await this.#own(id, call)
    const command = new CreateTagsCommand({ Resources: [id], Tags: tagsOf(tags) })
    await this.#sender.send(command, { call, action: 'CreateTags', writes: true })
  }

  async destroy(id: string, call: CloudCall): Promise<void> {
    const found = await this.#read(id, call)
    if (!found || this.#instance(found).state === 'gone') return
    this.#assertOurs(id, found)
    try {
      const command = new TerminateInstancesCommand({ InstanceIds: [id] })
      await this.#sender.send(command, { call, action: 'TerminateInstances', writes: true })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  async #own(id: string, call: CloudCall): Promise<void> {
    const found = await this.#read(id, call)
    if (!found) throw new CloudRefused(`EC2 has no machine ${id}`)
    this.#assertOurs(id, found)
  }

  /** EC2 has no condition on tags in a request. The policy of the credentials has one: see docs/dispatch-clouds.md. */
  #assertOurs(id: string, found: Ec2Instance): void {
    if (!isOurs(recordOf(found.Tags), this.#sets)) throw new CloudRefused(`${id} is not of our set: it stays as it is`)
  }

  orphans(call: CloudCall): Promise<readonly PreResource[]> {
    return this.#interfaces.orphans(call)
  }

  remove(resource: PreResource, call: CloudCall): Promise<void> {
    return this.#interfaces.remove(resource, call)
  }

  async close(): Promise<void> {
    this.#sender.close()
  }

  async #read(id: string, call: CloudCall): Promise<Ec2Instance | undefined> {
    try {
      return (await this.#describe({ InstanceIds: [id] }, call)).find(each => each.InstanceId === id)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  async #describe(request: DescribeInstancesRequest, call: CloudCall): Promise<readonly Ec2Instance[]> {
    const answer = await this.#sender.send(new DescribeInstancesCommand(request), { call, action: 'DescribeInstances' })
    return instancesIn(answer.Reservations)
  }

  #instance(from: Ec2Instance): Instance {
    return instanceOf(from, this.#parameters.AddressKind, this.#sshPort)
  }
}

const isNotFound = (error: unknown) => error instanceof CloudRefused && error.code === 'InvalidInstanceID.NotFound'

const instancesIn = (reservations: readonly { Instances?: Ec2Instance[] | undefined }[] | undefined) =>
  (reservations ?? []).flatMap(({ Instances = [] }) => Instances)
