/** A running lab dies: clients see it soon, with the reason. */
import { expect, test } from 'vitest'
import type { LabEvent } from '../../src/base/domain.ts'
import { eventually } from '../kit/cluster/world.ts'
import type { Client, StatusAnswer } from '../kit/fleet/client.ts'
import { assertContiguous } from '../kit/fleet/client.ts'
import { startFleet, useFleet } from '../kit/fleet/fleet.ts'

const graces = { crashLoopGraceSeconds: 2, unknownGraceSeconds: 2 }
const fleet = useFleet({ replicas: 2, config: { times: graces } })
/** The promise: the status shows it within two seconds. */
const promisedMs = 2000

async function run(): Promise<Client> {
  const user = fleet().user()
  await user.create()
  expect((await user.follow()).outcome).toBe('complete')
  return user
}

const pod = (user: Client) => ({ name: `nb-${user.username}`, namespace: fleet().namespace(user.username) })

/** Waits for a status within the promised time; returns the answer. */
function becomes(user: Client, status: StatusAnswer['status'], limitMs = promisedMs): Promise<StatusAnswer> {
  const ask = async () => {
    const { body } = await user.userStatus()
    return body.status === status ? body : null
  }
  return eventually(`${user.username} ${status}`, ask, limitMs)
}

async function replay(user: Client): Promise<LabEvent[]> {
  const events: LabEvent[] = []
  for await (const event of await user.events()) events.push(event)
  return events
}

/** Checks the stream after its end: an `error` behind `complete`, and no second end. */
async function expectTold(user: Client, words: RegExp): Promise<void> {
  const events = await replay(user)
  assertContiguous(events)
  const ends = events.filter(({ event }) => event === 'complete' || event === 'failed')
  expect(ends.map(({ event }) => event)).toEqual(['complete'])
  const after = events.slice(events.indexOf(ends[0]!) + 1).filter(({ event }) => event === 'error')
  expect(after.map(({ data }) => data)).toEqual([expect.stringMatching(words)])
}

async function containerStatus(user: Client, changes: object): Promise<object> {
  const { status } = await fleet().world.podOf(user.username)
  return { ...status.containerStatuses[0], ...changes }
}

test.concurrent('a lab has failed when its pod is deleted from outside, and the next lab can be made', async () => {
  const user = await run()
  await fleet().world.kube.delete('Pod', pod(user).name, pod(user).namespace, 0)
  const status = await becomes(user, 'failed')
  expect(status.pod).toBe('missing')
  expect(status).not.toHaveProperty('internal_url')
  expect((await fleet().admin.labs()).body).not.toContain(user.username)
  await expectTold(user, /pod of the lab is gone/)
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
})

test.concurrent('a lab has failed with the reason when its node evicted the pod, and is kept until it is deleted', async () => {
  const user = await run()
  await fleet().world.setPodStatus(user.username, { phase: 'Failed', reason: 'Evicted', message: 'disk pressure' })
  expect(await becomes(user, 'failed')).toMatchObject({ pod: 'present' })
  await expectTold(user, /evicted it \(disk pressure\)/)
  expect(await fleet().world.podOf(user.username)).not.toBeNull()
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
  expect(await fleet().world.leftOf(user.username)).toEqual([])
})

test.concurrent('a status has no pod when the pod of a failed lab is gone', async () => {
  const user = await run()
  await fleet().world.setPodStatus(user.username, { phase: 'Failed', reason: 'Evicted', message: 'disk pressure' })
  expect(await becomes(user, 'failed')).toMatchObject({ pod: 'present' })
  const { length } = await replay(user)
  await fleet().world.kube.delete('Pod', pod(user).name, pod(user).namespace, 0)
  const isMissing = async () => (await user.userStatus()).body.pod === 'missing'
  await eventually('the pod is missing', isMissing, promisedMs)
  expect((await user.userStatus()).body.status).toBe('failed')
  expect(await replay(user)).toHaveLength(length)
})

test.concurrent('a lab removes itself when its pod ended with success', async () => {
  const user = await run()
  await fleet().world.setPodStatus(user.username, { phase: 'Succeeded' })
  await becomes(user, 'terminating')
  const { outcome, events } = await user.follow()
  expect(outcome).toBe('complete')
  expect(events[0]).toMatchObject({ event: 'info', data: 'The lab was shut down' })
  expect((await user.userStatus()).status).toBe(404)
  expect(await fleet().world.leftOf(user.username)).toEqual([])
})

test.concurrent('a lab runs on when its container restarted, and its stream says so once', async () => {
  const user = await run()
  const lastState = { terminated: { exitCode: 137, reason: 'OOMKilled', startedAt: null, finishedAt: null } }
  const containerStatuses = [await containerStatus(user, { restartCount: 1, lastState })]
  await fleet().world.setPodStatus(user.username, { containerStatuses })
  const isReported = async () => (await replay(user)).some(({ event }) => event === 'error')
  await eventually('the event of the restart', isReported, promisedMs)
  // Another change of the pod must repeat nothing: both replicas have judged it again once the next user's event is there.
  await fleet().world.kube.patch('Pod', pod(user).name, pod(user).namespace, {
    metadata: { labels: { seen: 'again' } },
  })
  const other = await run()
  await fleet().world.kube.delete('Pod', pod(other).name, pod(other).namespace, 0)
  await becomes(other, 'failed')
  await expectTold(user, /more memory than its size allows.*restarted in its place \(1\)/)
  expect((await user.userStatus()).body.status).toBe('running')
})

test.concurrent('a lab has failed after the grace when it crashes again and again', async () => {
  const user = await run()
  const waiting = { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting failed container' }
  const terminated = { exitCode: 1, message: 'no such kernel', startedAt: null, finishedAt: null }
  const changes = { restartCount: 3, ready: false, started: false, state: { waiting }, lastState: { terminated } }
  await fleet().world.setPodStatus(user.username, { containerStatuses: [await containerStatus(user, changes)] })
  await becomes(user, 'failed', graces.crashLoopGraceSeconds * 1000 + promisedMs)
  const errors = (await replay(user)).filter(({ event }) => event === 'error').map(({ data }) => data)
  expect(errors.at(-1)).toMatch(/exit code 1\nno such kernel/)
})

test.concurrent('a lab has failed after the grace when its node is silent', async () => {
  const user = await run()
  await fleet().world.setPodStatus(user.username, { phase: 'Unknown' })
  await becomes(user, 'failed', graces.unknownGraceSeconds * 1000 + promisedMs)
  await expectTold(user, /has gone silent/)
})

test('a replica finds at its start that a lab died while none was running', async context => {
  const lonely = await startFleet(context, { replicas: 1 })
  const user = lonely.user()
  await user.create()
  await user.follow()
  await lonely.kill(0)
  await lonely.world.kube.delete('Pod', `nb-${user.username}`, lonely.namespace(user.username), 0)
  await lonely.start(0)
  const hasFailed = async () => (await user.userStatus()).body.status === 'failed'
  await eventually('the lab is known to have failed', hasFailed, promisedMs)
})
