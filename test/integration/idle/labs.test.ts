/** Labs that nobody uses are warned of and stopped, and those that are used, or kept, are not. */
import { describe, expect, test } from 'vitest'
import { stamps } from '../../../src/kube/labels.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import { useFleet } from '../../kit/fleet/fleet.ts'
import { ActivityClient } from '../../kit/idle/activity-client.ts'
import type { Asked } from '../../kit/idle/fake-jupyter.ts'
import { type IdleLab, useIdleLabs } from '../../kit/idle/idle-lab.ts'

const people = { 'patient-1': {}, 'patient-2': {}, 'patient-3': {}, 'patient-4': {}, 'aged-1': {} }
const rules = [
  // Long enough for a test to come back during the warning.
  { name: 'patient', match: { users: ['patient-*'] }, idleTimeoutSeconds: 12, warnSeconds: 8 },
  { name: 'aged', match: { users: ['aged-*'] }, maxAgeSeconds: 25, warnSeconds: 5 },
  { name: 'short', idleTimeoutSeconds: 3, warnSeconds: 2 },
]
const idle = { enabled: true, checkPeriodSeconds: 1, restPeriodSeconds: 1, stopsPerMinute: 100, rules }
const fleet = useFleet({ people, config: { idle } })
const labs = useIdleLabs(fleet)

const activityOf = ({ token }: Client) => new ActivityClient(() => fleet().anyUrl(), token)
const pathOf = ({ username }: { readonly username: string }) => `/v1/lab/${username}`
const find = (user: Client) => activityOf(user).find(pathOf(user))

/** Resolves when a server was asked after a time, by a look that began then. */
async function askedAfter({ fake }: IdleLab, ms: number): Promise<Asked> {
  while (!fake.asked.some(({ atMs }) => atMs > ms)) await fake.nextAsked()
  return fake.asked.find(({ atMs }) => atMs > ms)!
}

/** Resolves when the lab is gone, with the events of its deletion. */
async function gone({ user }: IdleLab): Promise<readonly string[]> {
  const status = async () => (await user.userStatus()).status
  await eventually(`the end of ${user.username}`, async () => (await status()) === 404)
  return (await user.follow()).events.map(({ data }) => data)
}

/** Asserts that it runs on, for longer after the first look than its rule lets an idle one. */
async function outlives(lab: IdleLab, timeoutMs: number): Promise<void> {
  await lab.fake.untilAsked(1)
  await askedAfter(lab, lab.fake.asked[0]!.atMs + timeoutMs + 1500)
  expect((await lab.user.userStatus()).body.status).toBe('running')
}

/** The patches of a lab's pod by the engine, in order. */
const patchesOf = async ({ username }: IdleLab) =>
  (await fleet().audit.writesOf(fleet().namespace(username))).filter(({ verb }) => verb === 'patch')

const annotationsOf = async ({ username }: IdleLab) =>
  ((await fleet().world.podOf(username)).metadata.annotations ?? {}) as Readonly<Record<string, string>>

test.concurrent('a lab that nobody uses is warned, stopped, and said to be on the form', async () => {
  const user = fleet().user()
  const news = await activityOf(user).events('/v1/events')
  const lab = await labs().make({ user })
  const events = await news.until(({ event }) => event === 'stopping')
  const [first] = await gone(lab)
  const ofLab = { kind: 'lab', id: user.username, rule: 'short', why: 'idle' }
  expect(events).toMatchObject([
    { event: 'warning', data: ofLab },
    { event: 'stopping', data: ofLab },
  ])
  const words = 'stopped after 3 s without activity (rule short)'
  expect(first).toBe(words)
  expect((await user.request<string>(`lab-form/${user.username}`)).body).toContain(`Your last lab was ${words}, on `)
  expect(await find(user)).toMatchObject({ state: 'stopped', stopped: { why: words } })
  expect(await fleet().world.leftOf(user.username)).toEqual([])
  await news.close()
})

test.concurrent('the owner reads of the warning in the lab’s own events, and of the end in its state', async () => {
  const user = fleet().as('patient-1')
  const news = await activityOf(user).events('/v1/events')
  const lab = await labs().make({ user })
  const [warning] = await news.until(({ event }) => event === 'warning')
  const { eligibleAfter } = warning!.data
  expect(await find(user)).toMatchObject({ state: 'warned', rule: 'patient', eligibleAfter })
  const { redis, keys } = fleet().world
  const own = (await redis.xrange(keys.events(user.username), '-', '+')).map(([, fields]) => fields.join(' '))
  const at = `${eligibleAfter!.slice(11, 16)} UTC`
  expect(own.at(-1)).toContain(`The lab is idle and will be stopped at ${at} unless it is used (rule patient)`)
  await gone(lab)
})

describe.concurrent('a lab that is used', () => {
  test('is not stopped while a kernel works, and prints nothing', async () => {
    const beganMs = Date.now()
    const lab = await labs().make({ behaviour: { kernels: [{ state: 'busy', lastMs: beganMs - 3_600_000 }] } })
    await outlives(lab, 3000)
    expect(await find(lab.user)).toMatchObject({ state: 'active', source: 'kernels' })
    lab.fake.behave({ kernels: [{ state: 'idle', lastMs: Date.now() }] })
    await gone(lab)
  })

  test('is not stopped while somebody types in a terminal', async () => {
    const lab = await labs().make()
    const typing = setInterval(() => lab.fake.behave({ terminals: [Date.now() - 86_400_000, Date.now()] }), 200)
    await outlives(lab, 3000)
    expect(await find(lab.user)).toMatchObject({ source: 'terminals' })
    clearInterval(typing)
    await gone(lab)
  })

  test('keeps its warning off once a kernel has run during it', async () => {
    const user = fleet().as('patient-2')
    const news = await activityOf(user).events('/v1/events')
    const lab = await labs().make({ user })
    await news.until(({ event }) => event === 'warning')
    lab.fake.behave({ kernels: [{ state: 'idle', lastMs: Date.now() }] })
    const [kept] = await news.until(({ event }) => event === 'kept')
    expect(kept!.data).toMatchObject({ id: user.username, rule: 'patient' })
    expect((await user.userStatus()).body.status).toBe('running')
    const events = await news.until(({ event }) => event === 'stopping')
    expect(events.map(({ event }) => event)).toEqual(['warning', 'stopping'])
    await gone(lab)
  })

  test('is kept by what is reported of it', async () => {
    const lab = await labs().make()
    const owner = activityOf(lab.user)
    for (const url of fleet().urls) {
      const there = new ActivityClient(() => url, lab.user.token)
      await eventually(
        'the lab is known',
        async () => (await there.ask('POST', `${pathOf(lab)}/activity`)).status === 204,
      )
    }
    for (let count = 1; count <= 7; count++) {
      expect((await owner.ask('POST', `${pathOf(lab)}/activity`)).status).toBe(204)
      await lab.fake.nextAsked()
    }
    expect(await owner.find(pathOf(lab))).toMatchObject({ source: 'push' })
    await gone(lab)
    expect((await owner.ask('POST', `${pathOf(lab)}/activity`)).status).toBe(404)
  })
})

test.concurrent('a lab is kept on request, and stopped after the end of that', async () => {
  const lab = await labs().make()
  const owner = activityOf(lab.user)
  const keep = `${pathOf(lab)}/keep-alive`
  const { status, body } = await owner.ask<{ until: string }>('POST', keep, { body: { seconds: 600 } })
  expect(status).toBe(200)
  await outlives(lab, 3000)
  expect(await owner.find(pathOf(lab))).toMatchObject({ keepUntil: body.until })
  await eventually('the annotation', async () => (await annotationsOf(lab))[stamps.keepUntil])
  expect((await owner.ask('DELETE', keep)).status).toBe(204)
  await gone(lab)
})

test.concurrent('a lab is kept by a request from before the first look at its new pod', async () => {
  const former = await labs().make({ behaviour: { kernels: [{ state: 'busy', lastMs: Date.now() }] } })
  await former.fake.untilAsked(2)
  const { user, username } = former
  expect((await fleet().admin.delete(username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
  const held = fleet().arm('idle.taken', 'hold', { user: `lab:${username}` })
  const lab = await labs().make({ user })
  await held.landed()
  const keep = `${pathOf(lab)}/keep-alive`
  const { body } = await activityOf(user).ask<{ until: string }>('POST', keep, { body: { seconds: 600 } })
  held.release()
  await outlives(lab, 3000)
  expect(await find(user)).toMatchObject({ keepUntil: body.until })
  expect((await activityOf(user).ask('DELETE', keep)).status).toBe(204)
  await gone(lab)
})

test.concurrent('a lab that is busy is stopped at its maximum age, after a warning', async () => {
  const user = fleet().as('aged-1')
  const news = await activityOf(user).events('/v1/events')
  const lab = await labs().make({ user, behaviour: { kernels: [{ state: 'busy', lastMs: Date.now() }] } })
  const events = await news.until(({ event }) => event === 'stopping')
  expect(events.map(({ event, data }) => [event, data.why])).toEqual([
    ['warning', 'age'],
    ['stopping', 'age'],
  ])
  const [warned, stopped] = events.map(({ data }) => Date.parse(data.at!))
  expect(stopped! - warned!).toBeGreaterThanOrEqual(5000)
  expect((await gone(lab))[0]).toBe('stopped at its maximum age of 25 s (rule aged)')
})

describe.concurrent('annotations', () => {
  test('are written at the warning and at the stop, and by UID', async () => {
    const user = fleet().as('patient-3')
    const news = await activityOf(user).events('/v1/events')
    const lab = await labs().make({ user })
    await news.until(({ event }) => event === 'warning')
    const checked = await eventually('the stamp of the warning', async () => (await annotationsOf(lab))[stamps.checked])
    const lastActivity = (await annotationsOf(lab))[stamps.lastActivity]
    expect(Date.parse(lastActivity!)).toBeLessThan(Date.parse(checked))
    await news.until(({ event }) => event === 'stopping')
    await gone(lab)
    expect((await patchesOf(lab)).map(({ resource, code }) => [resource, code])).toEqual(
      Array.from({ length: 2 }, () => ['pods', 200]),
    )
  })

  test('are not written of a lab that has just started', async () => {
    const lab = await labs().make({ behaviour: { kernels: [{ state: 'busy', lastMs: Date.now() }] } })
    await lab.fake.untilAsked(8)
    expect(await patchesOf(lab)).toHaveLength(0)
    lab.fake.behave({})
    await gone(lab)
  })

  test('that people write count as activity, unless they are ahead of now', async () => {
    const user = fleet().as('patient-4')
    const lab = await labs().make({ user })
    await lab.fake.untilAsked(1)
    const write = (at: number) =>
      fleet().world.kube.patch('Pod', `nb-${user.username}`, fleet().namespace(user.username), {
        metadata: { annotations: { [stamps.lastActivity]: new Date(at).toISOString() } },
      })
    await write(Date.now() + 3_600_000)
    await eventually(
      'the correction',
      async () => Date.parse((await annotationsOf(lab))[stamps.lastActivity]!) < Date.now(),
    )
    const nowMs = Date.now()
    await write(nowMs)
    await eventually('the activity', async () => (await find(user))?.source === 'annotation')
    expect((await find(user))?.lastActivity).toBe(new Date(nowMs).toISOString())
    await gone(lab)
  })
})
