/** What bounds stops: the fuse, the share of those that do not answer; and another replica follows one that was killed. */
import { expect, type TestContext, test } from 'vitest'
import { eventually } from '../../kit/cluster/world.ts'
import { type Fleet, startFleet } from '../../kit/fleet/fleet.ts'
import { IdleLabs } from '../../kit/idle/idle-lab.ts'

const periods = { enabled: true, checkPeriodSeconds: 1, restPeriodSeconds: 1 }
const busy = { kernels: [{ state: 'busy', lastMs: Date.now() }] }

async function start(context: TestContext, idle: object): Promise<{ fleet: Fleet; labs: IdleLabs }> {
  const fleet = await startFleet(context, { config: { idle: { ...periods, ...idle } } })
  const labs = new IdleLabs(fleet)
  context.onTestFinished(() => labs.stop())
  return { fleet, labs }
}

const running = async (fleet: Fleet) => (await fleet.admin.labs()).body

/** How often a stop was held, over all replicas. */
async function held(fleet: Fleet): Promise<number> {
  const pattern = /^skylab_idle_holds_total\{cause="fuse"\} (\d+)$/m
  const texts = fleet.monitoringUrls.map(async url => (await fetch(`${url}/metrics`)).text())
  return (await Promise.all(texts)).reduce((sum, text) => sum + Number(pattern.exec(text)?.[1] ?? 0), 0)
}

test.concurrent('no more labs are stopped within a minute than the fuse lets', async context => {
  const rules = [{ name: 'brief', idleTimeoutSeconds: 1, warnSeconds: 0 }]
  const { fleet, labs } = await start(context, { rules, stopsPerMinute: 2 })
  await Promise.all(Array.from({ length: 5 }, () => labs.make()))
  await eventually('two stops', async () => (await running(fleet)).length === 3)
  const before = await held(fleet)
  await eventually('more that are held', async () => (await held(fleet)) >= before + 6)
  expect(await running(fleet)).toHaveLength(3)
  // As when the minute has passed.
  await fleet.world.redis.del(fleet.world.keys.activityStops('lab'))
  await eventually('two more stops', async () => (await running(fleet)).length === 1)
  const again = await held(fleet)
  await eventually('the last one held', async () => (await held(fleet)) >= again + 2)
  expect(await running(fleet)).toHaveLength(1)
})

test.concurrent('a lab that hangs is stopped where its rule says so, unless many do not answer', async context => {
  // biome-ignore lint/suspicious/noThenProperty: the word of the configuration; no promise is made of it
  const rules = [{ name: 'strict', warnSeconds: 0, unreachable: { afterSeconds: 3, then: 'stop' } }]
  const { fleet, labs } = await start(context, { rules, probeTimeoutSeconds: 3 })
  const users = [fleet.user(), fleet.user()]
  const stopping = users.map(({ username }) => fleet.arm('idle.stopping', 'hold', { user: `lab:${username}` }))
  const hung = await Promise.all(users.map(user => labs.make({ user, behaviour: 'hang' })))
  await Promise.all(Array.from({ length: 4 }, () => labs.make({ behaviour: busy })))
  // One silent lab of six is stopped. So neither goes on before both are found silent.
  await Promise.all(stopping.map(arm => arm.landed()))
  for (const arm of stopping) arm.release()
  await eventually('stops that are held', async () => (await held(fleet)) >= 2)
  expect(await running(fleet)).toHaveLength(6)
  const [first, second] = hung
  first!.fake.behave(busy)
  await eventually('the end of the other one', async () => (await second!.user.userStatus()).status === 404)
  const [words] = (await second!.user.follow()).events
  expect(words!.data).toBe('stopped after 3 s without an answer (rule strict)')
  expect(await running(fleet)).toHaveLength(5)
})

test.concurrent('another replica follows within 20 s when one is killed during its look', async context => {
  const rules = [{ name: 'long', idleTimeoutSeconds: 3600 }]
  const { fleet, labs } = await start(context, { rules })
  const lab = await labs.make()
  await lab.fake.untilAsked(2)
  const killed = fleet.arm('idle.looked', 'kill', { user: `lab:${lab.username}` })
  const { atMs, replica } = await killed.landed()
  await lab.fake.untilAsked(lab.fake.asked.length + 1)
  const next = lab.fake.asked.find(asked => asked.atMs > atMs)!
  const tookMs = next.atMs - atMs
  // Others take it 20 s after it was taken, which is before it was asked, and look for what is due once a second.
  expect(tookMs).toBeGreaterThan(15_000)
  expect(tookMs).toBeLessThan(25_000)
  expect(fleet.working()).not.toContain(fleet.indexOf(replica))
  expect((await lab.user.userStatus()).body.status).toBe('running')
})
