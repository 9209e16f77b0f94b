/**
 * The replica that reads the registry or prepulls is killed or stopped at each step, and Redis is emptied in a pull.
 * Every image reaches every node by one DaemonSet, and nothing is left of a catalogue that becomes empty.
 */
import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { pullSetName } from '../../../src/images/prepull/pull-set.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import { FakeRegistry } from '../../kit/images/registry.ts'
import { PrepullSite, placement } from '../../kit/prepull/prepull.ts'
import { commandsOfPrepulling, loseReplyTo } from './commands.ts'
import { isWhole } from './points.ts'

const nodes = ['a', 'b']
/** From a blow until all replicas report the pull: a take-over, a reading of the registry, a pull. */
const convergeMs = 30_000

type Effect = 'kill' | 'stop'

const places = [
  ...['catalogue.read', 'catalogue.written', 'prepull.recorded', 'prepull.acted'],
  ...['create', 'delete'].flatMap(verb => ['before-send', 'after-send'].map(place => `prepull.${verb}.${place}`)),
]

function blows(): [Effect, string][] {
  if (!isWhole) {
    return [
      ['kill', 'prepull.create.after-send'],
      ['stop', 'prepull.recorded'],
    ]
  }
  return places.flatMap((place): [Effect, string][] => [
    ['kill', place],
    ['stop', place],
  ])
}

interface PrepullsAnswer {
  readonly images: Readonly<Record<'prepulled' | 'pending', readonly { readonly tag: string }[]>>
}

class Story {
  readonly trial: Trial
  readonly fleet: Fleet
  readonly registry: FakeRegistry
  readonly site: PrepullSite
  /** Allowed number of DaemonSets of each image, by their name. */
  readonly allowed = new Map<string, number>()

  constructor(trial: Trial, fleet: Fleet, registry: FakeRegistry) {
    this.trial = trial
    this.fleet = fleet
    this.registry = registry
    this.site = new PrepullSite(fleet.redis, {}, fleet.installation)
  }

  /** Pushes a newer image, which replaces the one before. Returns its tag. */
  publish(allowed = 1): string {
    const tag = `w_2026_${String(this.allowed.size + 1).padStart(2, '0')}`
    const digest = this.registry.push(tag, 1000 + this.allowed.size)
    const reference = `${this.registry.server.host}/${this.registry.repository}:${tag}`
    this.allowed.set(pullSetName(this.fleet.installation, { reference, digest }), allowed)
    return tag
  }

  /** Lets the kubelets pull it, wherever a pod needs it. */
  pull(tag: string): Promise<unknown> {
    return Promise.all(nodes.map(node => this.site.pulls(tag, node)))
  }

  /** Waits until each working replica reports exactly these images on all nodes, none is pending, and no pull runs. */
  async settled(...tags: readonly string[]): Promise<void> {
    const due = JSON.stringify([tags, []])
    const isReported = async (index: number) => {
      const { status, body } = await this.fleet.admin.at(this.fleet.url(index)).request<PrepullsAnswer>('prepulls')
      if (status !== 200) return false
      const { prepulled, pending } = body.images
      return JSON.stringify([prepulled, pending].map(states => states.map(({ tag }) => tag))) === due
    }
    const isSettled = async () => {
      if ((await this.site.sets()).length > 0) return false
      return (await Promise.all(this.fleet.working().map(isReported))).every(Boolean)
    }
    await eventually(`${due} in every replica's report`, isSettled, convergeMs)
  }

  async strike(effect: Effect, place: string): Promise<void> {
    // A stopped sender still sends its request when it wakes: nodes have the image by then.
    const slips = effect === 'stop' && /^prepull\.(recorded|create\.before-send)$/.test(place)
    this.trial.injected()
    const tag = this.publish(slips ? 2 : 1)
    const arm = this.fleet.arm(place, effect)
    const pulled = this.pull(tag)
    pulled.catch(() => {})
    const index = this.fleet.indexOf((await arm.landed()).replica)
    this.trial.landed()
    const struckAtMs = performance.now()
    if (effect === 'kill') await this.fleet.start(index)
    await pulled
    await this.settled(tag)
    this.trial.took(performance.now() - struckAtMs)
    if (effect === 'kill') return
    await this.fleet.kill(index, 'SIGCONT')
    await this.settled(tag)
  }

  /** Loses the reply to the next command. */
  async lose(command: string): Promise<void> {
    this.trial.injected()
    const tag = this.publish()
    const lost = loseReplyTo(this.fleet, command).then(() => this.trial.landed())
    await this.pull(tag)
    await this.settled(tag)
    await lost
  }

  /** Redis loses its data just after the creation of a DaemonSet. */
  async empty(): Promise<void> {
    this.trial.injected()
    const tag = this.publish()
    const arm = this.fleet.arm('prepull.create.after-send', 'hold')
    await arm.landed()
    this.trial.landed()
    await this.fleet.world.redis.flushall()
    arm.release()
    await this.pull(tag)
    await this.settled(tag)
  }

  /** The last image vanishes during its pull, and the replica that cancels the pull is killed. */
  async endCatalogue(): Promise<void> {
    const { fleet, site, registry } = this
    this.publish()
    await eventually('a DaemonSet', async () => (await site.sets()).length > 0)
    this.trial.injected()
    const arm = fleet.arm('prepull.delete.before-send', 'kill')
    registry.tags = []
    const index = fleet.indexOf((await arm.landed()).replica)
    this.trial.landed()
    await fleet.start(index)
    await this.settled()
    await eventually('the end of the pods', async () => (await site.pods()).length === 0)
    const { keys, redis } = fleet.world
    expect(await redis.exists(keys.prepulled, keys.prepullFailures)).toBe(0)
  }

  /** By the audit log. */
  async expectMadeOnce(): Promise<void> {
    const made = (await this.fleet.audit.all()).filter(
      ({ verb, resource, code, name }) =>
        verb === 'create' && resource === 'daemonsets' && code < 300 && this.allowed.has(name),
    )
    const counts = Map.groupBy(made, ({ name }) => name)
    for (const [name, allowed] of this.allowed) {
      const count = counts.get(name)?.length ?? 0
      if (count < 1 || count > allowed) this.trial.violation(`the DaemonSet ${name} was made ${count} times`)
    }
    this.trial.figure('daemonsets', made.length)
  }
}

async function begin(trial: Trial, options: FleetOptions = {}): Promise<Story> {
  const registry = await FakeRegistry.start()
  trial.context.onTestFinished(() => registry.server.stop())
  const installation = `p${randomBytes(4).toString('hex')}`
  const images = {
    ...{ registry: registry.server.host, docker: { repository: registry.repository } },
    ...{ numReleases: 0, numWeeklies: 1, numDailies: 0, refreshIntervalSeconds: 1, prepull: {} },
  }
  const kubernetes = { namespace: 'skylab' }
  const config = { images, kubernetes, lab: placement(installation) }
  const fleet = await trial.fleet({ ...options, installation, config })
  const story = new Story(trial, fleet, registry)
  trial.context.onTestFinished(() => story.site.close())
  await Promise.all(nodes.map(node => story.site.addNode(node)))
  return story
}

async function strikeAll(trial: Trial): Promise<void> {
  const story = await begin(trial)
  story.fleet.expects({ redisLoss: true })
  for (const [effect, place] of blows()) await story.strike(effect, place)
  await story.empty()
  await story.endCatalogue()
  await story.expectMadeOnce()
}

async function loseReplies(trial: Trial): Promise<void> {
  const story = await begin(trial, { proxies: 'open' })
  for (const command of commandsOfPrepulling) await story.lose(command)
  await story.expectMadeOnce()
}

const limitMs = isWhole ? 480_000 : 150_000
attack('T25 prepulling, struck at each step', strikeAll, { concurrent: true, limitMs })
if (isWhole) attack('T11 reply lost after apply, of prepulling', loseReplies, { concurrent: true, limitMs })
