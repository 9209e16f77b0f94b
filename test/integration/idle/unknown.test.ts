/** Labs that do not answer are never stopped for being idle, whatever their servers do. The token goes to their pods alone. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually } from '../../kit/cluster/world.ts'
import { useFleet } from '../../kit/fleet/fleet.ts'
import { ActivityClient } from '../../kit/idle/activity-client.ts'
import { type Behaviour, FakeJupyter } from '../../kit/idle/fake-jupyter.ts'
import { useIdleLabs } from '../../kit/idle/idle-lab.ts'

// biome-ignore lint/suspicious/noThenProperty: the word of the configuration; no promise is made of it
const unreachable = { afterSeconds: 2, then: 'report' } as const
const rules = [{ name: 'short', idleTimeoutSeconds: 3, warnSeconds: 0, unreachable }]
const idle = { enabled: true, checkPeriodSeconds: 1, restPeriodSeconds: 1, probeTimeoutSeconds: 1, rules }
const fleet = useFleet({ config: { idle: { ...idle, stopsPerMinute: 100 } } })
const labs = useIdleLabs(fleet)

const cases: readonly (readonly [what: string, Behaviour, event: string])[] = [
  ['hangs', 'hang', 'unreachable'],
  ['resets its connections', 'reset', 'unreachable'],
  ['answers 500', { status: 500 }, 'unreachable'],
  ['answers 503', { status: 503 }, 'unreachable'],
  ['answers 401', { status: 401 }, 'denied'],
  ['answers 403', { status: 403 }, 'denied'],
  ['answers 404', { status: 404 }, 'unreachable'],
  ['answers something else', 'garbage', 'unreachable'],
  ['answers without an end', 'huge', 'unreachable'],
]

test.concurrent.each(cases)('a lab whose server %s runs on, and its owner reads why', async (_, behaviour, why) => {
  const user = fleet().user()
  const owner = new ActivityClient(() => fleet().anyUrl(), user.token)
  const news = await owner.events('/v1/events')
  const { fake } = await labs().make({ user, behaviour })
  const [event] = await news.until(() => true)
  expect(event).toMatchObject({ event: 'unreachable', data: { why, rule: 'short', id: user.username } })
  // The pauses between looks double: from the first to the fourth are seven seconds.
  await fake.untilAsked(4)
  expect((await user.userStatus()).body.status).toBe('running')
  expect(await owner.find(`/v1/lab/${user.username}`)).toMatchObject({ state: 'unknown' })
  // The control: once it answers, it is stopped.
  fake.behave({})
  expect((await news.until(({ event }) => event === 'stopping')).at(-1)!.data.why).toBe('idle')
  await news.close()
})

test.concurrent('a redirect of a lab is not followed', async () => {
  const other = await FakeJupyter.start()
  try {
    const redirectTo = `http://${other.address}:${other.port}/`
    const { fake, user } = await labs().make({ behaviour: { redirectTo }, env: { JUPYTERHUB_API_TOKEN: 'secret' } })
    await fake.untilAsked(4)
    expect(other.asked).toEqual([])
    expect((await user.userStatus()).body.status).toBe('running')
    fake.behave({})
    await eventually('its end', async () => (await user.userStatus()).status === 404)
  } finally {
    await other.stop()
  }
})

test.concurrent('a lab is asked with its own token, which nothing else shows', async () => {
  const tokens = ['canary-of-one-77ab', 'canary-of-two-19cd']
  const busy = { kernels: [{ state: 'busy', lastMs: Date.now() }] }
  const made = await Promise.all(
    tokens.map(token => labs().make({ env: { JUPYTERHUB_API_TOKEN: token }, behaviour: busy })),
  )
  const events = await new ActivityClient(() => fleet().anyUrl(), fleet().admin.token).events('/admin/v1/events', '0-0')
  for (const [at, { fake }] of made.entries()) {
    await fake.untilAsked(3)
    fake.behave({})
    expect(new Set(fake.asked.map(({ authorization }) => authorization))).toEqual(new Set([`token ${tokens[at]}`]))
  }
  const pods = await Promise.all(made.map(({ username }) => fleet().world.podOf(username)))
  const left = new Set(made.map(({ username }) => username))
  const told = await events.until(({ event, data }) => {
    if (event === 'stopping') left.delete(data.id!)
    return left.size === 0
  })
  await events.close()
  const folder = join(fleet().stateDir, 'log')
  const logs = readdirSync(folder).map(name => readFileSync(join(folder, name), 'utf8'))
  const stamps = pods.map(({ metadata }) => metadata.annotations)
  for (const text of [...logs, JSON.stringify([told, stamps]), await metrics()]) {
    for (const token of tokens) expect(text).not.toContain(token)
  }
})

async function metrics(): Promise<string> {
  const texts = fleet().monitoringUrls.map(async url => (await fetch(`${url}/metrics`)).text())
  return (await Promise.all(texts)).join()
}
