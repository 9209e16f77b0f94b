/** Users and bots of an unchanged JupyterHub, in its current versions, get real labs on a real node. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { runCell } from '../../dev/hub/notebook.ts'
import { HubRefusal, HubVisitor } from '../../dev/hub/visitor.ts'
import type { HubVersion } from '../../dev/setup/jupyterhub.ts'
import { systemClock } from '../../src/base/clock.ts'
import { eventually } from '../kit/cluster/world.ts'
import { servingReplica, usePlatform } from '../kit/hub/platform.ts'

/** `SKYLAB_FAULTS=all`: outages and spawns last as long as the promise allows. */
const isWhole = process.env.SKYLAB_FAULTS === 'all'
const outageMs = isWhole ? 60_000 : 3000
const slowSpawnMs = isWhole ? 90_000 : 12_000
/** One after another, though the other group runs in parallel. */
const inTurn = { concurrent: false, timeout: 180_000 + Math.max(outageMs, slowSpawnMs) }
const settleMs = 90_000
const chosen = { image_type: 'recommended', size: 'small' }

const platform = usePlatform(['gated-tabs', 'gated-restart', 'gated-outage', 'gated-stop', 'gated-bot', 'broken'])

/** The lines of the progress page so far. */
const steps = async (page: Page) => (await page.locator('.progress-log-event').allTextContents()).join('\n')

/** Resolves when the container runs; the server in it still has to start. */
const untilStarted = (page: Page) =>
  eventually('the container starts', async () => /Container started/.test(await steps(page)), 60_000)

const untilAtLab = (page: Page, username: string) =>
  page.waitForURL(new RegExp(`/user/${username}/lab`), { timeout: settleMs, waitUntil: 'commit' })

/** Waits until a user's lab has left nothing, neither in the cluster nor in Redis. */
const untilGone = (username: string) =>
  eventually('nothing is left', async () => (await platform().fleet.world.leftOf(username)).length === 0, 60_000)

async function fromLoginToNothing(version: HubVersion): Promise<void> {
  const { fleet, login, hub } = platform()
  const { username } = fleet.user()
  const page = await login(version, username)
  await page.getByRole('radio', { name: /recommended/ }).check()
  await page.getByRole('radio', { name: /^Medium/ }).check()
  await page.getByRole('button', { name: 'Start' }).click()
  await untilStarted(page)
  await untilAtLab(page, username)
  const output = await runCell(page, 'import os; print(os.getuid(), os.environ["CPU_LIMIT"], os.environ["MEM_LIMIT"])')
  const { uid, quotas, options } = (await fleet.as(username).userStatus()).body
  expect(options).toMatchObject({ size: 'medium' })
  expect(output.trim()).toBe(`${uid} ${quotas!.limits.cpu} ${quotas!.limits.memory}`)
  // The page's scripts give the button its effect after its load.
  await page.goto(`${hub(version).url}/hub/home`, { waitUntil: 'networkidle' })
  await page.locator('#stop').click()
  await untilGone(username)
  await page.context().close()
}

/** A running lab, made by the form as a bot posts it; with the UID of its pod. */
async function running(version: HubVersion): Promise<{ user: HubVisitor; uid: string | undefined }> {
  const { fleet, podUid, visitor } = platform()
  const user = await visitor(version, fleet.user().username)
  await user.spawn(chosen)
  expect(await user.settled(settleMs)).toMatchObject({ ready: true })
  return { user, uid: await podUid(user.username) }
}

/** Checks that the Hub still has the lab: the same pod, and a page that opens. */
async function expectUntouched({ user, uid }: Awaited<ReturnType<typeof running>>): Promise<void> {
  expect(await user.server()).toMatchObject({ ready: true, pending: null })
  expect(await user.page('/lab')).toMatchObject({
    status: 200,
    url: expect.stringContaining(`/user/${user.username}/`),
  })
  expect(await platform().podUid(user.username)).toBe(uid)
}

/** A user whose lab has begun, and waits at the gate. */
async function spawning(version: HubVersion, username: string): Promise<HubVisitor> {
  const { podUid, visitor } = platform()
  const user = await visitor(version, username)
  await user.spawn(chosen)
  await eventually('its pod', () => podUid(username))
  return user
}

/** Repeats the request until there is a lab: the Hub first checks the former one, and refuses meanwhile. */
async function asksAgain(user: HubVisitor): Promise<void> {
  const hasLab = async () => {
    const server = await user.server()
    if (server?.ready) return true
    if (server?.pending == null) await user.spawn(chosen)
    return false
  }
  await eventually('a lab after the repeated request', hasLab, settleMs)
  expect((await user.page('/lab')).status).toBe(200)
}

// The versions run in parallel, the tests of each in turn.
describe.concurrent('JupyterHub 6', () => {
  test('leads from the login to a cell that runs, and removes everything', inTurn, () => fromLoginToNothing(6))

  test('keeps running labs and pending spawns when it is killed and started again', inTurn, async () => {
    const { hub, openGate } = platform()
    const lab = await running(6)
    const waiting = await spawning(6, 'gated-restart')
    await hub(6).kill()
    expect((await lab.user.page('/api')).status).toBe(200)
    const started = hub(6).start()
    await openGate(waiting.username)
    await started
    await expectUntouched(lab)
    await asksAgain(waiting)
  })

  test('keeps running labs and pending spawns when the controller is away during its start', inTurn, async () => {
    const { hub, openGate, way } = platform()
    const lab = await running(6)
    const waiting = await spawning(6, 'gated-outage')
    // By SIGTERM, as in an upgrade: then a Hub by default stops its labs.
    await hub(6).end()
    await way(6).shut()
    await hub(6).start()
    await systemClock.sleep(outageMs)
    await expectUntouched(lab)
    await way(6).open()
    await expectUntouched(lab)
    await openGate(waiting.username)
    await asksAgain(waiting)
    await lab.user.stop()
    await untilGone(lab.user.username)
  })
})

describe.concurrent('JupyterHub 5', () => {
  test('leads from the login to a cell that runs, and removes everything', inTurn, () => fromLoginToNothing(5))

  test('serves two tabs on when the replica that serves their progress is killed', inTurn, async () => {
    const { fleet, hub, login, openGate, podUid } = platform()
    const username = 'gated-tabs'
    const page = await login(5, username)
    await page.getByRole('button', { name: 'Start' }).click()
    await untilStarted(page)
    const second = await page.context().newPage()
    await second.goto(page.url())
    await untilStarted(second)
    const uid = await podUid(username)
    const killed = await servingReplica(fleet, username)
    await fleet.kill(killed)
    await eventually(
      'progress from another replica',
      async () => (await servingReplica(fleet, username)) !== killed,
      30_000,
    )
    const shown = await steps(page)
    await openGate(username)
    // Not JupyterLab itself: when two tabs log in to a server at once, JupyterHub can refuse one of them.
    const atServer = (url: URL) => url.pathname.startsWith(`/user/${username}/`)
    const arrive = (tab: Page) => tab.waitForURL(atServer, { timeout: settleMs, waitUntil: 'commit' })
    await Promise.all([page, second].map(arrive))
    await page.goto(`${hub(5).url}/user/${username}/lab`)
    await untilAtLab(page, username)
    expect(shown).not.toMatch(/fail|error|lost/i)
    expect(await podUid(username)).toBe(uid)
    await page.context().close()
  })

  test('shows on the page why a lab cannot start', inTurn, async () => {
    const page = await platform().login(5, 'broken')
    await page.getByRole('button', { name: 'Start' }).click()
    const why = /exit code 3[\s\S]*there is no such kernel/
    await eventually('the reason', async () => why.test(await steps(page)), 60_000)
    await page.context().close()
  })

  test('spawns for a bot by JSON with only tag and size, however long it takes', inTurn, async () => {
    const { fleet, openGate, visitor } = platform()
    const bot = await visitor(5, 'gated-bot')
    const begunMs = systemClock.monotonicMs()
    await bot.spawnByApi({ image_type: 'recommended', image_tag: 'w_2026_46', size: 'large' })
    await systemClock.sleep(slowSpawnMs - (systemClock.monotonicMs() - begunMs))
    expect(await bot.server()).toMatchObject({ pending: 'spawn' })
    await openGate(bot.username)
    expect(await bot.settled(settleMs)).toMatchObject({ ready: true })
    expect((await fleet.as(bot.username).userStatus()).body.options).toMatchObject({ size: 'large' })
  })

  test('leaves nothing when the user gives a spawn up', inTurn, async () => {
    const user = await spawning(5, 'gated-stop')
    await user.stop()
    await untilGone(user.username)
  })

  test('refuses another user’s token', inTurn, async () => {
    const { fleet, hub } = platform()
    const visitor = new HubVisitor({ url: hub(5).url, username: fleet.user().username })
    for (const password of ['wrong', fleet.as('broken').token]) {
      await expect(visitor.login(password)).rejects.toThrow(/Invalid username or password/)
    }
  })

  test('refuses outdated options and named servers with a reason', inTurn, async () => {
    const { fleet, visitor } = platform()
    const user = await visitor(5, fleet.user().username)
    const gone = user.spawn({ image_type: 'recommended', size: 'gone' })
    await expect(gone).rejects.toThrow(HubRefusal)
    await expect(gone).rejects.toThrow(/There is no such size/)
    await expect(user.spawnByApi(chosen, 'second')).rejects.toThrow(/Named servers are not/)
  })
})
