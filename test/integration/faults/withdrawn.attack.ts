/**
 * Each right of the controller's account is withdrawn and restored during creations, deletions, compares and prepulls.
 * Every operation ends by its deadline, with a message, and nothing is left when the right is back.
 */
import type { KubeObject } from '../../../src/base/domain.ts'
import { labels } from '../../../src/kube/labels.ts'
import { withOwnership } from '../../../src/labs/render.ts'
import type { RightsRule } from '../../../src/labs/rights.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { Account, nameOf } from '../../kit/cluster/account.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { FakeRegistry } from '../../kit/images/registry.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

const seconds = 1000
/** Long enough for a lab on a busy machine, and longer than a replica bears refusals. */
const limit = 24
const times = {
  spawnTimeoutSeconds: limit,
  deleteTimeoutSeconds: limit,
  noRoomGraceSeconds: 1,
  compareIntervalSeconds: 1,
}
/** A failing creation asks whether its lab is complete: refused for 10 s, and once more after a pause of 5 s. */
const questionMs = 15 * seconds
/** From the acceptance to the last event: deadline, lease, scan, question, cleaning. */
const endsWithinMs = (limit + limit) * seconds + questionMs + wave.promisedMs
const cleanWithinMs = 60 * seconds
const lanes = isWhole ? 3 : 1

/** Rights that these labs never need: they claim no volumes. */
const untried = new Set(['create persistentvolumeclaims'])
/** Rights that are needed only if a DaemonSet of that name exists already, or nodes join it; and for stamps of idle labs. */
const rare = new Set(['get daemonsets', 'patch daemonsets', 'patch pods'])
/** Rights for an object of an older creation in the way: a right that is bound then reads and removes it. */
const binding = new Set(['create rolebindings', 'bind clusterroles'])

/** The rights that `npm test` withdraws. */
const some = new Set(['get namespaces', 'delete namespaces'])

/** A round that withdraws all rights of the account at once. */
const everything = 'everything'

interface Round {
  readonly name: string
  readonly rights: readonly RightsRule[]
}

/** Rights of labs are no rights of the account: `two-installations` tries what the policies refuse. */
const isOfAccount = ({ apiGroups, resources }: RightsRule): boolean =>
  apiGroups[0] !== 'skylab.dev' || ['installations', 'marks'].includes(resources[0]!)

function roundsOf(account: Account): Round[] {
  const rights = account.rights.filter(isOfAccount)
  const isTried = (right: RightsRule) => !untried.has(nameOf(right)) && !rare.has(nameOf(right))
  const singly = rights.filter(isTried).map(right => ({ name: nameOf(right), rights: [right] }))
  return [{ name: everything, rights }, ...singly.filter(({ name }) => isWhole || some.has(name))]
}

class Story {
  readonly trial: Trial
  readonly fleet: Fleet
  readonly account: Account
  readonly registry: FakeRegistry
  #tags = 0

  constructor(trial: Trial, fleet: Fleet, account: Account, registry: FakeRegistry) {
    this.trial = trial
    this.fleet = fleet
    this.account = account
    this.registry = registry
  }

  /** Replaces the image by a newer one: replicas pull that, and no longer the old one. */
  publish(): string {
    this.#tags += 1
    const tag = `w_2026_${String(this.#tags).padStart(2, '0')}`
    this.registry.push(tag, 1000 + this.#tags)
    return tag
  }

  user(): Client {
    return this.fleet.user()
  }

  /** Refusals that replicas got so far. The debug log has each request. */
  async #refused({ verbs, resources, apiGroups }: RightsRule): Promise<number> {
    const logs = await Promise.all(this.fleet.urls.map((_, index) => this.fleet.log(index)))
    // A right on no resource of the API is checked by a policy, at any creation; `bind` at the one of a RoleBinding.
    const [verb, resource] =
      apiGroups[0] === 'skylab.dev'
        ? ['create', 'namespaces']
        : verbs[0] === 'bind'
          ? ['create', 'rolebindings']
          : [verbs[0]!, resources[0]!]
    const words = `"verb":"${verb}","resource":"${resource}","code":"403"`
    // Probes of the policy are requests that it must refuse; they belong to no operation.
    const isProbed = ['namespaces', 'configmaps'].includes(resource) && ['create', 'delete'].includes(verb)
    const isRefusal = (line: string) => line.includes(words) && (!isProbed || line.includes('"op":'))
    return logs.flatMap(log => log.split('\n')).filter(isRefusal).length
  }

  async play(round: Round): Promise<void> {
    const { trial, fleet, account } = this
    const users = [this.user(), this.user(), this.user()] as const
    const [maker, leaver] = users
    await leaver.create()
    if ((await leaver.follow()).outcome !== 'complete') throw new Error(`${round.name}: there is no lab to delete`)
    const release = await this.#plant(round, maker)
    const before = await Promise.all(round.rights.map(right => this.#refused(right)))
    trial.injected()
    await account.withdraw(round.rights)
    const tag = this.publish()
    let ends: readonly string[]
    try {
      ends = await this.#goOn(round, users, release)
      await this.#expectRefused(round, before)
    } finally {
      // Operations that have not ended end then, and are judged.
      await account.giveBack()
    }
    const backMs = performance.now()
    await this.recovered(round, tag)
    for (const [i, { username }] of users.entries()) {
      if (ends[i] !== 'failed') continue
      const isGone = async () => (await fleet.world.namespaceOf(username)) === null
      await eventually(`${round.name}: nothing left of ${username}`, isGone, cleanWithinMs)
    }
    trial.took(performance.now() - backMs)
    await wave.expectNothingLeft(fleet, users)
  }

  /** A creation, a deletion, and a creation that fails by itself, without the right. Returns how each ends. */
  async #goOn(round: Round, [maker, leaver, failing]: readonly [Client, Client, Client], release?: () => void) {
    const isAll = round.name === everything
    const restarted = isAll || /^(list|watch) /.test(round.name) ? this.#restart() : undefined
    release?.()
    await Promise.all([
      ...(release ? [] : [maker.create()]),
      this.fleet.admin.delete(leaver.username),
      failing.create(wave.hugeOptions),
    ])
    if (isAll) await this.#named()
    const ends = await Promise.all([maker, leaver, failing].map(user => this.#end(round, user)))
    await restarted
    return ends
  }

  async #expectRefused(round: Round, before: readonly number[]): Promise<void> {
    const after = await Promise.all(round.rights.map(right => this.#refused(right)))
    const isRefused = after.some((count, i) => count > before[i]!)
    this.trial.landed(isRefused ? 1 : 0)
    if (!isRefused) this.trial.violation(`${round.name}: nothing was refused`)
  }

  /** Each ends by its deadline, and a failure has a message. */
  async #end(round: Round, user: Client): Promise<string> {
    const begunMs = performance.now()
    const { outcome, errors } = await user.follow({ limitMs: endsWithinMs })
    const tookMs = Math.round(performance.now() - begunMs)
    if (outcome === 'failed' && !errors.at(-1))
      this.trial.violation(`${round.name}: ${user.username} failed without a word`)
    if (tookMs > endsWithinMs) this.trial.violation(`${round.name}: ${user.username} took ${tookMs} ms`)
    return outcome
  }

  /** Puts an object of an older creation in the way of this one, which continues without the right. */
  async #plant({ name }: Round, user: Client): Promise<(() => void) | undefined> {
    if (!binding.has(name)) return undefined
    const { fleet } = this
    const arm = fleet.arm('lab.create.make.secret.before-act', 'hold', { user: user.username })
    await user.create()
    await arm.landed()
    const { metadata } = await fleet.world.namespaceOf(user.username)
    const op = Number(metadata.labels[labels.op])
    const called = { name: `nb-${user.username}`, namespace: metadata.name, labels: {} }
    const object: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: called }
    await fleet.world.kube.create(withOwnership(object, op - 1, metadata.uid))
    return () => arm.release()
  }

  /** A starting replica lists and watches everything: it is not ready without the right, so a rollout would stop. */
  async #restart(): Promise<void> {
    await this.fleet.kill(1)
    await this.fleet.start(1, { ready: false })
  }

  /** Running replicas stay ready, since nobody else would answer, and report the missing rights. */
  async #named(): Promise<void> {
    await eventually('a report of the missing rights', async () => {
      const answer = await fetch(`${this.fleet.monitoringUrl(0)}/readyz`)
      return answer.status === 200 && /may not .*create namespaces.*rbac\.yaml/.test(await answer.text())
    })
  }

  /** Every replica is ready and misses no right, and the image is on all nodes. */
  async recovered({ name }: Pick<Round, 'name'>, tag: string): Promise<void> {
    const { fleet } = this
    const isWell = async (url: string) => {
      const answer = await fetch(`${url}/readyz`)
      return answer.status === 200 && !(await answer.text()).includes('troubles')
    }
    await eventually(
      `${name}: all replicas are well`,
      async () => {
        return (await Promise.all(fleet.monitoringUrls.map(url => isWell(url).catch(() => false)))).every(Boolean)
      },
      cleanWithinMs,
    )
    await eventually(
      `${name}: ${tag} is on all nodes`,
      async () => {
        const { status, body } = await fleet.admin.request<Prepulls>('prepulls')
        if (status !== 200) return false
        const { prepulled, pending } = body.images
        return pending.length === 0 && prepulled.some(image => image.tag === tag)
      },
      cleanWithinMs,
    )
  }
}

interface Prepulls {
  readonly images: Readonly<Record<'prepulled' | 'pending', readonly { readonly tag: string }[]>>
}

/** One of several fleets, each with its own account, that divide the rights among them. */
function withdrawEach(lane: number) {
  return async (trial: Trial): Promise<void> => {
    const registry = await FakeRegistry.start()
    trial.context.onTestFinished(() => registry.server.stop())
    const account = await Account.make()
    trial.context.onTestFinished(() => account.remove())
    const quota = { cpu: 1_000_000, memory: 1_000_000 }
    const images = {
      ...{ registry: registry.server.host, docker: { repository: registry.repository } },
      ...{ numReleases: 0, numWeeklies: 1, numDailies: 0, refreshIntervalSeconds: 1 },
      prepull: { retrySeconds: 1, maxRetrySeconds: 2 },
    }
    const fleet = await trial.fleet({
      ...{ replicas: 2, users: 120, account, user: { quota } },
      config: {
        ...{ images, times, lab: { sizes: wave.sizes } },
        engine: { leaseTtlMs: wave.ttlMs, scanIntervalMs: wave.scanIntervalMs },
        // Without it, a replica would refuse requests before acceptance while a right is missing.
        kubernetes: { requirePolicy: false },
      },
    })
    const story = new Story(trial, fleet, account, registry)
    await story.recovered({ name: 'at first' }, story.publish())
    const rounds = roundsOf(account).filter((_, i) => i % lanes === lane)
    for (const round of rounds) await story.play(round)
    trial.figure(
      'rights',
      rounds.map(({ name }) => name),
    )
  }
}

const limitMs = isWhole ? 600_000 : 240_000
for (let lane = 0; lane < lanes; lane++) {
  const part = lanes > 1 ? `, part ${lane + 1}` : ''
  attack(`T30 rights withdrawn in turn${part}`, withdrawEach(lane), { concurrent: true, limitMs })
}
