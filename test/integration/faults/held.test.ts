/** A webhook behind the policy holds writes until their lab has been replaced by another one. */
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { type Hold, HoldingWebhook } from '../../kit/fleet/webhook.ts'
import * as late from './late.ts'
import { isWhole } from './points.ts'

const owner = 0
const heirs = [1, 2]
/** Longer than the removal of a namespace. */
const heldMs = 12_000

/**
 * When the webhook releases the write:
 * - `before`: the newer lab's namespace exists, and its own object of that name is about to be made;
 * - `after`: the newer lab runs; `never`: the lab was deleted, and not requested again.
 */
type Moment = 'before' | 'after' | 'never'

interface Case {
  /** The step whose write is held. */
  readonly step: string
  readonly moment: Moment
}

const steps = ['namespace', 'configmap-env', 'configmap-nss', 'secret', 'secret-env', 'networkpolicy', 'service', 'pod']
const moments: readonly Moment[] = ['before', 'after', 'never']

const all = steps.flatMap(step => moments.map((moment): Case => ({ step, moment })))
/** Kinds whose writes reach a deleted namespace: one that the controller watches, and one that it does not. */
const isLanding = ({ step, moment }: Case) => moment === 'never' && ['pod', 'secret'].includes(step)
const cases = isWhole ? all : all.filter(isLanding)
const honestUsers = isWhole ? 12 : 2
interface Held extends Case, Omit<late.StaleWrite, 'sinceMs'> {
  readonly hold: Hold
}

interface Renewed extends Held, late.StaleWrite {
  /** Waits for the newer lab. Returns its op, or null if there is none. */
  readonly end: () => Promise<number | null>
}

/** Requests a lab from one replica, and waits until its creation is about to make the write. */
async function begin(fleet: Fleet, webhook: HoldingWebhook, each: Case): Promise<() => Promise<Held>> {
  const user = fleet.user()
  const arm = fleet.arm(`lab.create.make.${each.step}.before-act`, 'hold', { user: user.username })
  expect((await user.at(fleet.url(owner)).create()).status).toBe(303)
  await arm.landed()
  const namespace = fleet.namespace(user.username)
  const hold = webhook.hold(write => write.namespace === namespace && stepOf(write) === each.step)
  return async () => {
    arm.release()
    return { ...each, user, hold, ...(await hold.arrived) }
  }
}

const singular: Readonly<Record<string, string>> = { networkpolicies: 'networkpolicy' }

/** The part of a step's name that names the object. */
function stepOf({ resource, name }: { readonly resource: string; readonly name: string }): string {
  const kind = singular[resource] ?? resource.replace(/s$/, '')
  return kind + (/-(env|nss)$/.exec(name)?.[0] ?? '')
}

/** Deletes the lab and makes another within the wait. */
async function renew(fleet: Fleet, held: Held): Promise<Renewed> {
  const { step, moment, user, hold } = held
  const there = user.at(fleet.url(heirs[0]!))
  expect((await fleet.admin.at(fleet.url(heirs[1]!)).delete(user.username)).status).toBe(202)
  expect((await there.follow()).outcome).toBe('complete')
  const arm = moment === 'before' && fleet.arm(`lab.create.make.${step}.before-act`, 'hold', { user: user.username })
  if (moment !== 'never') {
    expect((await there.create()).status).toBe(303)
    await (arm ? arm.landed() : there.follow())
  }
  hold.release(heldMs)
  const end = async () => {
    if (moment === 'never') return null
    // A kubelet removes exactly the deleted pod. KWOK removes by name, and would hit the newer one.
    if (arm && step === 'pod')
      await eventually('the end of the stale pod', async () => !(await fleet.world.podOf(user.username)))
    if (arm) arm.release()
    const { outcome, op } = await there.follow()
    expect([step, moment, outcome]).toEqual([step, moment, 'complete'])
    return op
  }
  return { ...held, sinceMs: Date.now(), end }
}

/** Creates and deletes labs meanwhile, through the same webhook and policy. Returns how many. */
function churn(fleet: Fleet, users: readonly Client[]): () => Promise<number> {
  let [over, made] = [false, 0]
  const live = async (user: Client) => {
    while (!over) {
      expect((await user.create()).status).toBe(303)
      expect((await user.follow()).outcome).toBe('complete')
      made += 1
      expect((await fleet.admin.at(fleet.url(heirs[0]!)).delete(user.username)).status).toBe(202)
      expect((await user.follow()).outcome).toBe('complete')
    }
  }
  const lives = Promise.all(users.map((user, i) => live(user.at(fleet.url(heirs[i % heirs.length]!)))))
  lives.catch(() => {})
  return async () => {
    over = true
    await lives
    return made
  }
}

/** At rest nothing stale is left, the newer pod saw nothing stale, and no honest write is refused for good. */
async function heldByWebhook(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ users: 60, config: { engine: { room: 48 } } })
  const webhook = await HoldingWebhook.start(fleet)
  trial.context.onTestFinished(() => webhook.close())
  await Promise.all(heirs.map(index => fleet.kill(index, 'SIGSTOP')))
  trial.injected(cases.length)
  const begun = await Promise.all(cases.map(each => begin(fleet, webhook, each)))
  // All at the same time: from now on the API server waits for 30 s.
  const held = await Promise.all(begun.map(send => send()))
  // The webhook's connections stay open: nothing tells the API server that the client gave up.
  await fleet.kill(owner, 'SIGSTOP')
  await Promise.all(heirs.map(index => fleet.kill(index, 'SIGCONT')))

  const honest = churn(
    fleet,
    Array.from({ length: honestUsers }, () => fleet.user()),
  )
  const renewed = await Promise.all(held.map(each => renew(fleet, each)))
  const tried = await late.awaitTried(fleet, renewed)
  trial.landed(tried.length)
  const newer = await Promise.all(renewed.map(({ end }) => end()))
  trial.figure('honest_labs', newer.filter(op => op !== null).length + (await honest()))
  await Promise.all(held.map(({ user }, i) => late.expectNothingStale(fleet, user, newer[i]!)))
  late.reportFates(trial, await late.fatesOf(fleet, tried))
  for (const [i, each] of renewed.entries()) {
    if (each.moment === 'before') await late.expectUnseen(fleet, each, newer[i]!)
  }
  await late.reportRefusals(trial, fleet, renewed)
  await fleet.kill(owner, 'SIGCONT')
}

attack('T14 a write held 12 s by a webhook, its lab made anew', heldByWebhook, { limitMs: 300_000 })
