/** Owners stop between their last check of the lease and the bytes of a write; a newer lab's namespace wakes them. */
import { expect } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { KubeClient } from '../../../src/kube/client.ts'
import { Watches } from '../../../src/ops/watches.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { silentLog } from '../../kit/log.ts'
import { testBed } from '../../kit/testbed.ts'
import * as late from './late.ts'
import { isWhole } from './points.ts'

/**
 * The write that each stopped replica is about to make. The service is the last of the objects that are sent at once: all
 * of them have passed their check of the lease, and none is on the wire.
 */
const steps = isWhole ? ['service', 'service', 'pod', 'pod'] : ['service', 'pod']
const heir = steps.length
const everyone = Array.from({ length: steps.length + 1 }, (_, index) => index)

interface Stopped extends Omit<late.StaleWrite, 'sinceMs'> {
  readonly replica: number
  readonly step: string
}

/** Makes a lab: the replica then has a connection for each of the next one's requests, which need not wait for a new one. */
async function connect(fleet: Fleet, replica: number): Promise<void> {
  const user = fleet.user().at(fleet.url(replica))
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

/** Stops a replica just before a write of its lab's creation, while all others are stopped. */
async function stop(fleet: Fleet, step: string, replica: number): Promise<Stopped> {
  const user = fleet.user()
  const arm = fleet.arm(`lab.create.make.${step}.before-send`, 'stop', { user: user.username })
  await fleet.kill(replica, 'SIGCONT')
  expect((await user.at(fleet.url(replica)).create()).status).toBe(303)
  expect((await arm.landed()).replica).toBe(`replica-${replica + 1}`)
  const op = Number(await fleet.world.redis.hget(fleet.world.keys.record(user.username), 'op'))
  return { user, op, step, replica, resource: `${step}s`, name: `nb-${user.username}` }
}

/** The cluster as a replica's watch shows it. */
async function watchNamespaces(trial: Trial, { installation, namespacePrefix }: Fleet): Promise<Watches> {
  const kubernetes = { kubeconfig: testBed().kubeconfig, requestTimeoutSeconds: 10, maxInFlight: 4 }
  const common = { clock: systemClock, log: silentLog }
  const client = new KubeClient({ ...common, kubernetes, version: 'test', replica: 'test' })
  const watches = new Watches({ ...common, client, installation, namespacePrefix })
  watches.start()
  trial.context.onTestFinished(async () => {
    await watches.stop()
    await client.close()
  })
  await watches.whenReady(trial.context.signal)
  return watches
}

/** Resolves as soon as the watch shows a namespace with a newer op. */
function newerNamespace({ namespaces }: Watches, name: string, op: number): Promise<number> {
  return new Promise(resolve => {
    const off = namespaces.on(({ type, value }) => {
      if (type !== 'put' || value.name !== name || (value.op ?? 0) <= op) return
      off()
      resolve(value.op!)
    })
  })
}

/** Deletes the lab, requests another, and wakes the owner of the first at the watch event of the new namespace. */
async function wake(fleet: Fleet, watches: Watches, stopped: Stopped, isHeld: boolean) {
  const { user, op, step, replica } = stopped
  const there = user.at(fleet.url(heir))
  expect((await fleet.admin.at(fleet.url(heir)).delete(user.username)).status).toBe(202)
  expect((await there.follow()).outcome).toBe('complete')
  // The held newer operation cannot have taken the name before the stale write comes.
  const arm = isHeld ? fleet.arm(`lab.create.make.${step}.before-act`, 'hold', { user: user.username }) : undefined
  const appears = newerNamespace(watches, fleet.namespace(user.username), op)
  expect((await there.create()).status).toBe(303)
  const newerOp = await appears
  const sinceMs = Date.now()
  await fleet.kill(replica, 'SIGCONT')
  return { ...stopped, sinceMs, newerOp, release: () => arm?.release() }
}

async function ended(user: Client, fleet: Fleet, newerOp: number): Promise<void> {
  const { outcome, op } = await user.at(fleet.url(heir)).follow()
  expect({ outcome, op }).toEqual({ outcome: 'complete', op: newerOp })
}

/** Each owner writes, since it does not know yet. Nothing of that stays, and no honest write is refused for good. */
async function wokenByNewer(trial: Trial): Promise<void> {
  // A replica that wakes after the time-out of a request would cut off what it has just sent.
  const fleet = await trial.fleet({ replicas: everyone.length, config: { kubernetes: { requestTimeoutSeconds: 60 } } })
  const watches = await watchNamespaces(trial, fleet)
  await Promise.all(steps.map((_, replica) => connect(fleet, replica)))
  await Promise.all(everyone.map(index => fleet.kill(index, 'SIGSTOP')))
  trial.injected(steps.length)
  const stopped: Stopped[] = []
  for (const [replica, step] of steps.entries()) stopped.push(await stop(fleet, step, replica))
  await fleet.kill(heir, 'SIGCONT')
  const woken = await Promise.all(stopped.map((each, i) => wake(fleet, watches, each, i % 2 === 0)))
  const tried = await late.awaitTried(fleet, woken)
  trial.landed(tried.length)
  for (const { release } of woken) release()
  await Promise.all(woken.map(({ user, newerOp }) => ended(user, fleet, newerOp)))
  await Promise.all(woken.map(({ user, newerOp }) => late.expectNothingStale(fleet, user, newerOp)))
  late.reportFates(trial, await late.fatesOf(fleet, tried))
  for (const each of woken) await late.expectUnseen(fleet, each, each.newerOp)
  await late.reportRefusals(trial, fleet, woken)
}

attack('T14 woken by the watch event of a newer namespace', wokenByNewer, { concurrent: true })
