/** Others who use the same account: their machines are theirs, and they may touch ours by hand. */
import type { Moto } from './moto.ts'
import { itemsOf, textOf } from './xml.ts'

const pairs = (prefix: string, tags: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(tags).flatMap(([key, value], index) => [
      [`${prefix}.${index + 1}.Key`, key],
      [`${prefix}.${index + 1}.Value`, value],
    ]),
  )

export class Somebody {
  readonly #moto: Moto

  constructor(moto: Moto) {
    this.#moto = moto
  }

  /** Runs a machine of their own. @returns its id */
  async runs(tags: Readonly<Record<string, string>> = {}): Promise<string> {
    const tagged = Object.keys(tags).length > 0 && {
      'TagSpecification.1.ResourceType': 'instance',
      ...pairs('TagSpecification.1.Tag', tags),
    }
    const machine = { ImageId: 'ami-12345678', InstanceType: 'm5.large', MinCount: '1', MaxCount: '1' }
    return textOf(await this.#moto.ask('RunInstances', { ...machine, ...tagged }), 'instanceId')!
  }

  /** Makes a network interface of their own. @returns its id */
  async makesInterface(subnet: string, tags: Readonly<Record<string, string>> = {}): Promise<string> {
    const answer = await this.#moto.ask('CreateNetworkInterface', { SubnetId: subnet })
    const id = textOf(answer, 'networkInterfaceId')!
    if (Object.keys(tags).length > 0) await this.tags(id, tags)
    return id
  }

  async tags(id: string, tags: Readonly<Record<string, string>>): Promise<void> {
    await this.#moto.ask('CreateTags', { 'ResourceId.1': id, ...pairs('Tag', tags) })
  }

  async removesTags(id: string, ...keys: readonly string[]): Promise<void> {
    const named = Object.fromEntries(keys.map((key, index) => [`Tag.${index + 1}.Key`, key]))
    await this.#moto.ask('DeleteTags', { 'ResourceId.1': id, ...named })
  }

  async stops(id: string): Promise<void> {
    await this.#moto.ask('StopInstances', { 'InstanceId.1': id })
  }

  async ends(id: string): Promise<void> {
    await this.#moto.ask('TerminateInstances', { 'InstanceId.1': id })
  }

  /** A machine as the console shows it, without any lag; undefined where there is none. */
  async sees(
    id: string,
  ): Promise<{ readonly state: string; readonly tags: Readonly<Record<string, string>> } | undefined> {
    const answer = await this.#moto.ask('DescribeInstances', { 'Filter.1.Name': 'instance-id', 'Filter.1.Value.1': id })
    const item = itemsOf(answer, 'reservationSet')?.items[0]
    if (item === undefined) return undefined
    const state = /<instanceState><code>\d+<\/code><name>([^<]*)/.exec(item)?.[1] ?? ''
    const tags = (itemsOf(item, 'tagSet')?.items ?? []).map(tag => [textOf(tag, 'key')!, textOf(tag, 'value') ?? ''])
    return { state, tags: Object.fromEntries(tags) }
  }
}
