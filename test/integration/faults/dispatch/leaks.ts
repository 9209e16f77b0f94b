/**
 * dispatch V3 and V6: no machine of ours is left, whatever becomes of calls and replicas; and when a call to make or end a machine
 * arrives, its intent stands in Redis. The cloud is that of the tests; its machines never answer, so that each ends soon.
 */
import type { Call } from '../../../../dev/cloud/call.ts'
import type { Rule } from '../../../../dev/cloud/faults.ts'
import { parseMachine } from '../../../../src/store/dispatch/forms.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { type OwnCloud, ownCloud } from '../../../kit/cloud/cloud.ts'
import { isWhole } from '../points.ts'
import { Site, until } from './shared.ts'

/** A kind of trouble; `landed` says that it came. */
interface Trouble {
  readonly name: string
  begin(cloud: OwnCloud, site: Site): () => boolean | Promise<boolean>
}

const byRule = (name: string, rule: Rule, outcome: string): Trouble => ({
  name,
  begin: cloud => {
    const before = cloud.journal.entries.length
    cloud.faults.add(rule)
    return () =>
      cloud.journal.entries.slice(before).some(entry => entry.action === rule.action && entry.outcome === outcome)
  },
})

const byKill = (point: string): Trouble => ({
  name: `killed at ${point}`,
  begin: (_, site) => {
    const arm = site.fleet.failpoints.arm(point, 'kill')
    return () => arm.marks().length > 0
  },
})

const unhonoured: Trouble = {
  name: 'a reply is lost, and the token is not honoured',
  begin: cloud => {
    const before = cloud.journal.entries.length
    cloud.faults.honoursTokens = false
    cloud.faults.add({ action: 'RunInstances', effect: { cut: 'after' } })
    return () =>
      cloud.journal.entries.slice(before).filter(({ action, carriedOut }) => action === 'RunInstances' && carriedOut)
        .length > 1
  },
}

const lagging: Trouble = {
  name: 'listings lag',
  begin: cloud => {
    const before = cloud.live().length
    cloud.faults.lagMs = 4_000
    return () => cloud.live().length > before
  },
}

const few: readonly Trouble[] = [
  unhonoured,
  byRule(
    'TerminateInstances says yes and does nothing',
    { action: 'TerminateInstances', times: 2, effect: { lie: true } },
    'lie',
  ),
  byKill('instance.create.create.after-send'),
]
const many: readonly Trouble[] = [
  ...few,
  lagging,
  byRule('RunInstances comes late', { action: 'RunInstances', effect: { lateMs: 2_000 } }, 'late'),
  byRule('RunInstances is cut', { action: 'RunInstances', effect: { cut: 'before' } }, 'cut'),
  byRule('RunInstances is silent', { action: 'RunInstances', effect: { silent: 'after' } }, 'silent'),
  byRule('TerminateInstances is cut', { action: 'TerminateInstances', times: 2, effect: { cut: 'after' } }, 'cut'),
  byRule(
    'TerminateInstances fails',
    { action: 'TerminateInstances', times: 3, effect: { error: 'InternalError', status: 500 } },
    'InternalError',
  ),
  ...['before-act', 'before-send', 'after-act', 'after-commit'].map(place => byKill(`instance.create.create.${place}`)),
  ...['before-send', 'after-send', 'after-act', 'after-commit'].map(place =>
    byKill(`instance.create.destroy.${place}`),
  ),
  byKill('schedule.written'),
]

/** What Redis says when the call arrives. @returns what is broken */
async function intentOf(call: Call, site: Site): Promise<string[]> {
  const { client, name } = site.fleet
  const briefOf = async (machine: string | null | undefined) => {
    const json = machine && (await client.hget(`{${name}}:instance-briefs`, machine))
    return json ? parseMachine(json) : undefined
  }
  if (call.action === 'RunInstances') {
    const key = [...call.parameters].find(([at, value]) => at.endsWith('.Key') && value === 'ArvadosIntent')?.[0]
    const intent = call.parameters.get(key?.replace(/Key$/, 'Value') ?? '')
    const [brief, place] = [await briefOf(intent), await client.hget(`{${name}}:instance:${intent}`, 'place')]
    if (!brief) return [`V6 no intent of the creation ${intent}`]
    return place === call.subnet ? [] : [`V6 the intent ${intent} is in '${place}', and the call in ${call.subnet}`]
  }
  const machines = await Promise.all(
    call.ids.map(async id => ({ id, brief: await briefOf(await client.hget(`{${name}}:instance-ids`, id)) })),
  )
  return machines.filter(({ brief }) => !brief?.ending).map(({ id }) => `V6 ${id} is ended without an intent`)
}

attack(
  'dispatch V3 V6 a cloud that fails',
  async (trial: Trial) => {
    let site: Site | undefined
    let asked = 0
    const cloud = await ownCloud({
      before: async call => {
        asked += 1
        for (const words of site ? await intentOf(call, site) : []) trial.violation(words)
      },
    })
    trial.context.onTestFinished(() => cloud.close())
    const foreign = [
      await cloud.somebody.runs(),
      await cloud.somebody.runs({ ArvadosInstanceSetID: 'of somebody else' }),
    ]
    site = await Site.start(trial, {
      types: { small: { ProviderType: 'm5.large', VCPUs: 1, RAM: '4GiB', Price: 0.1 } },
      cloud: {
        ...{
          Driver: 'ec2',
          DriverParameters: cloud.parameters,
          ImageID: 'ami-12345678',
          TimeoutBooting: '2s',
          TimeoutProbe: '4s',
        },
      },
    })
    for (const trouble of isWhole ? many : few) await meet(site, cloud, trouble, trial)
    for (const id of cloud.live()) trial.violation(`V3 leaked: ${id}`)
    for (const id of foreign) {
      if (cloud.journal.entries.some(({ action, ids }) => action !== 'DescribeInstances' && ids.includes(id)))
        trial.violation(`V4 a foreign machine was touched: ${id}`)
    }
    trial.figure('calls', asked)
    await site.judge()
  },
  { concurrent: true, limitMs: 900_000 },
)

/** A container has machines made, none of which boots, until the trouble has come; then it is cancelled. */
async function meet(site: Site, cloud: OwnCloud, trouble: Trouble, trial: Trial): Promise<void> {
  trial.injected()
  const hasLanded = trouble.begin(cloud, site)
  const uuid = await site.submit({ as: 'Cancelled' })
  await until(hasLanded).toBe(true)
  trial.landed()
  await site.fleet.containers.change(uuid, undefined, { cancel: 'enough' })
  await until(() => site.stateOf(uuid)).toBe('Cancelled')
  try {
    await until(async () => [...(await site.fleet.list()).map(({ name }) => name), ...cloud.live()]).toEqual([])
  } catch (error) {
    for (const id of cloud.live()) trial.violation(`V3 leaked after ${trouble.name}: ${id}`)
    throw error
  }
  Object.assign(cloud.faults, { honoursTokens: true, lagMs: 0 })
  cloud.faults.clear()
}
