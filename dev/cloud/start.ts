/** A cloud of one test, bench or demo: moto, the front, and virtual machines where this machine can have them. */
import type { z } from 'zod'
import type { Clock } from '../../src/base/clock.ts'
import type { ec2Parameters } from '../../src/config/dispatch-ec2.ts'
import type { Call } from './call.ts'
import { Faults } from './faults.ts'
import { Front } from './front.ts'
import type { Journal } from './journal.ts'
import type { Host } from './machines/host.ts'
import type { Machine } from './machines/machine.ts'
import { Machines, type MachinesOptions, type MachinesPlace } from './machines/machines.ts'
import type { Network } from './machines/network.ts'
import { type Moto, startMoto } from './moto.ts'
import { Somebody } from './somebody.ts'
import { textOf } from './xml.ts'

export interface CloudOptions {
  /** The folder of an open run, for logs. */
  readonly stateDir: string
  /** Machines of namespaces at the addresses of the instances. Default: none, and instances are entries of a list. */
  readonly machines?: true | Omit<MachinesOptions, keyof MachinesPlace>
  /** Of faults by chance. Default 1. */
  readonly seed?: number
  readonly clock?: Clock
  /** Called before RunInstances and TerminateInstances are passed on. */
  readonly before?: (call: Call) => void | Promise<void>
  readonly signal?: AbortSignal | undefined
}

/** Opens machines of another kind. */
type Open<H extends Host> = (place: MachinesPlace) => Promise<Machines<H>>

export interface Cloud<H extends Host = Machine> {
  readonly endpoint: string
  readonly subnets: readonly string[]
  readonly journal: Journal
  readonly faults: Faults
  /** Undefined without virtual machines. */
  readonly machines: Machines<H> | undefined
  /** Others who use the same account. */
  readonly somebody: Somebody
  /** Instances that were asked for by the front, and have not ended. */
  live(): readonly string[]
  /** A block `DriverParameters` for it. */
  readonly parameters: z.input<typeof ec2Parameters>
  close(): Promise<void>
}

const region = 'us-east-1'

export function startCloud({ machines, ...options }: CloudOptions): Promise<Cloud> {
  const own = machines === true ? {} : machines
  return startCloudOf(own && (place => Machines.open({ ...own, ...place })), options)
}

/** @param open the machines at the addresses of the instances; undefined: none */
export async function startCloudOf<H extends Host>(
  open: Open<H> | undefined,
  options: Omit<CloudOptions, 'machines'>,
): Promise<Cloud<H>> {
  /** In the order of their start. */
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const end of closers.splice(0).reverse()) await end()
  }
  try {
    return await start(open, options, close, end => closers.push(end))
  } catch (error) {
    await close()
    throw error
  }
}

async function start<H extends Host>(
  open: Open<H> | undefined,
  { stateDir, seed = 1, clock, before, signal }: Omit<CloudOptions, 'machines'>,
  close: () => Promise<void>,
  onClose: (end: () => Promise<void>) => void,
): Promise<Cloud<H>> {
  const faults = new Faults(seed)
  const moto = await startMoto(stateDir, region, signal)
  onClose(moto.stop)
  const somebody = new Somebody(moto)
  // A machine that turns itself off is ended, as the driver asks EC2 to do.
  const onEnd = async (id: string) => {
    await somebody.ends(id).catch(() => {})
    front.estate.end([id])
  }
  const machines = await open?.({ stateDir, onEnd: id => void onEnd(id) })
  onClose(async () => machines?.close())
  const front = new Front({ moto, faults, hosts: machines, clock, before })
  const endpoint = await front.listen()
  onClose(() => front.close())
  const { subnets, group } = await makeNetwork(moto, machines?.network)
  return {
    ...{ endpoint, faults, machines, somebody, subnets, close, journal: front.journal },
    live: () => front.estate.live(),
    parameters: {
      ...{ Region: region, SubnetID: [...subnets], SecurityGroupIDs: [group], Endpoint: endpoint },
      ...{ AccessKeyID: 'AKIAIOSFODNN7EXAMPLE', SecretAccessKey: 'example', AdminUsername: 'root' },
    },
  }
}

/** A network with two subnets, at whose addresses machines come up. */
async function makeNetwork(moto: Moto, network: Partial<Network> = {}) {
  const { cidr = '10.200.0.0/22', subnets = ['10.200.0.0/23', '10.200.2.0/23'] } = network
  const made = async (action: string, name: string, parameters: Record<string, string>) =>
    textOf(await moto.ask(action, parameters), name) ?? ''
  const vpc = await made('CreateVpc', 'vpcId', { CidrBlock: cidr })
  const ids: string[] = []
  for (const [index, block] of subnets.entries()) {
    const place = { VpcId: vpc, CidrBlock: block, AvailabilityZone: `${region}${'ab'[index]}` }
    ids.push(await made('CreateSubnet', 'subnetId', place))
  }
  const about = { VpcId: vpc, GroupName: 'machines', GroupDescription: 'machines' }
  return { subnets: ids, group: await made('CreateSecurityGroup', 'groupId', about) }
}
