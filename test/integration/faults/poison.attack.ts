/** Operations that kill their owner with every act of their own, beside others that only wait. */
import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { labels } from '../../../src/kube/labels.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

const maxAttempts = 3
const waitingCount = isWhole ? 50 : 20

/** A fleet whose pods find their node only while it has a label. Returns it with a function that sets the label. */
async function labelledFleet(trial: Trial) {
  const label = `skylab.test/${randomBytes(4).toString('hex')}`
  const fleet = await trial.fleet({
    restart: true,
    users: waitingCount + 2,
    config: {
      engine: { leaseTtlMs: wave.ttlMs, scanIntervalMs: wave.scanIntervalMs, maxAttempts },
      lab: { nodeSelector: { type: 'kwok', [label]: 'yes' } },
    },
  })
  const { kube } = fleet.world
  const [node] = await kube.list('/api/v1/nodes', 'type=kwok')
  const setLabel = (value: string | null) =>
    kube.request('PATCH', `/api/v1/nodes/${node!.metadata.name}`, { metadata: { labels: { [label]: value } } })
  trial.context.onTestFinished(() => void setLabel(null))
  return { fleet, setLabel }
}

/** Starts an operation that kills its owner at this point. Replicas give it up after the allowed number of acts. */
async function poison(
  trial: Trial,
  fleet: Fleet,
  user: Client,
  point: string,
  ask: () => ReturnType<Client['create']>,
) {
  const arm = fleet.arm(point, 'kill', { user: user.username, times: null })
  trial.injected(maxAttempts)
  const begunMs = performance.now()
  expect((await ask()).status).toBeLessThan(400)
  const { outcome, errors } = await user.follow()
  const attempts = arm.marks().length
  trial.landed(attempts)
  expect({ outcome, attempts }).toEqual({ outcome: 'failed', attempts: maxAttempts })
  expect(errors.at(-1)).toMatch(/given up after 3 attempts/)
  trial.figure(`attempts_${point.split('.')[1]}`, attempts)
  trial.figure(`poisoned_ms_${point.split('.')[1]}`, Math.round(performance.now() - begunMs))
  arm.disarm()
  // Continue when the struck replica is back.
  await fleet.ready()
}

/** One after the other: an act beside a deadly one counts as an attempt, too. */
async function poisonBoth(trial: Trial, fleet: Fleet, maker: Client, leaver: Client): Promise<void> {
  await poison(trial, fleet, maker, 'lab.create.make.service.after-act', () => maker.create())
  expect((await maker.userStatus()).body).toMatchObject({ status: 'failed', pod: 'missing' })
  expect(await fleet.world.namespaceOf(maker.username)).toBeNull()

  // Not after the act: without its pod, the next owner would have no deadly act left.
  await poison(trial, fleet, leaver, 'lab.delete.pod.before-act', () => fleet.admin.delete(leaver.username))
  expect((await leaver.userStatus()).body).toMatchObject({ status: 'failed', pod: 'present' })
}

/** Lets the pods start. Each lab has had one pod. */
async function expectUnharmed(trial: Trial, fleet: Fleet, others: readonly Client[]): Promise<void> {
  const begunMs = performance.now()
  const follow = async (user: Client) => {
    const { outcome } = await user.follow()
    trial.took(performance.now() - begunMs)
    return outcome
  }
  expect(await Promise.all(others.map(follow))).toEqual(others.map(() => 'complete'))
  for (const user of others) {
    const writes = await fleet.audit.writesOf(fleet.namespace(user.username))
    expect(writes.filter(({ resource, code }) => resource === 'pods' && code < 300)).toHaveLength(1)
  }
  trial.figure('others', others.length)
}

/** A creation and a deletion are given up after three attempts each, and the others complete. */
async function besideOthers(trial: Trial): Promise<void> {
  const { fleet, setLabel } = await labelledFleet(trial)
  const url = await fleet.balancerUrl()
  const [maker, leaver, ...others] = Array.from({ length: waitingCount + 2 }, () => fleet.user().at(url))
  await setLabel('yes')
  await leaver!.create()
  expect((await leaver!.follow()).outcome).toBe('complete')
  await setLabel(null)
  await Promise.all(others.map(user => user.create()))
  const ofFleet = `${labels.installation}=${fleet.installation}`
  const isWaiting = async () => (await fleet.world.kube.list('/api/v1/pods', ofFleet)).length === waitingCount + 1
  await eventually('pods that wait', isWaiting)

  await poisonBoth(trial, fleet, maker!, leaver!)
  await setLabel('yes')
  await expectUnharmed(trial, fleet, others)
  expect((await maker!.create()).status).toBe(303)
  expect((await maker!.follow()).outcome).toBe('complete')
  await wave.expectNothingLeft(fleet, [...others, maker!, leaver!])
}

attack(`T22 poison beside ${waitingCount} that wait for their pods`, besideOthers, {
  // Take-overs of this many are timed, so nothing else may run.
  concurrent: !isWhole,
})
