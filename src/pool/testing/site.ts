/** A cloud and records in memory, with the words by which they know each other. */
import { FakeCloud, type FakeCloudOptions } from '../../clouds/testing/fake-driver.ts'
import { tagNames } from '../../dispatch/tags.ts'
import { silentLogger } from '../../telemetry/log.ts'
import type { CloudCalls } from '../parts.ts'
import { Tagging, type Tags } from '../tagging.ts'
import { FakeMachines } from './machines.ts'

export const ourSet = 'ours'
export const formerSet = 'before'
export const names = tagNames('Arvados')

export function siteOf(options: FakeCloudOptions) {
  const cloud = new FakeCloud({ setTag: names.instanceSetId, ...options })
  const machines = new FakeMachines()
  const tagging = new Tagging({ names, sets: [ourSet, formerSet], types: new Map() })
  const driver = cloud.driver([ourSet, formerSet])
  const calls: CloudCalls = { call: (_, __, ask) => ask(driver) }
  const adopted: string[] = []
  const adoption = {
    ...{
      machines,
      tagging,
      log: silentLogger(),
      lifeMs: 1000,
      onAdopted: (answer: string) => void adopted.push(answer),
    },
    sealer: { seal: (text: string, name: string) => `${name} ${text}` },
  }
  return { cloud, machines, tagging, driver, calls, adoption, adopted }
}

/** Tags as a keeper writes them. */
export const tagsOf = (intent: string, over: Tags = {}): Tags => ({
  [names.instanceSetId]: ourSet,
  [names.intent]: intent,
  [names.instanceType]: 'small',
  [names.idleBehavior]: 'run',
  [names.instanceSecret]: 'secret',
  ...over,
})
