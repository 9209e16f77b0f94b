/** People and bots come by an unchanged JupyterHub, in its present versions, to real labs on a real node. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { hubVersions } from '../../box/hub/environment.ts'
import type { HubRefusal } from '../../box/hub/visitor.ts'
import { systemClock } from '../../src/clock.ts'
import { servingReplica, usePlatform } from './harness/platform.ts'
import { eventually } from './harness/world.ts'

/** As `npm run faults` has it: outages and spawns as long as the promise says. */
const isWhole = process.env.SKYLAB_FAULTS === 'all'
const outageMs = isWhole ? 60_000 : 5000
const slowSpawnMs = isWhole ? 90_000 : 15_000
const limitMs = 180_000
const chosen = { image_type: 'recommended', size: 'small' }

const platform = usePlatform(['gated-tabs', 'gated-restart', 'gated-stop', 'gated-bot', 'broken'])

/** What the progress page has told so far. */
const steps = async (page: Page) => (await page.locator('.progress-log-event').allTextContents()).join('\n')

const isAtLab = (username: string) => new RegExp(`/user/${username}/lab`)

async function runCell(page: Page, code: string): Promise<string> {
  await page.locator('.jp-LauncherCard[data-category="Notebook"]').first().click()
  await page.locator('.jp-Notebook .cm-content').first().click()
  await page.keyboard.type(code)
  await page.keyboard.press('Shift+Enter')
  return (await page.locator('.jp-OutputArea-output').first().textContent({ timeout: 60_000 })) ?? ''
}

describe.concurrent.each(hubVersions)('JupyterHub %i', version => {
  test(
    'from the login to a cell that runs, and back to nothing',
    async ({ expect }) => {
      const { fleet, login } = platform()
      const { username } = fleet.user()
      const page = await login(version, username)
      await page.getByRole('radio', { name: /recommended/ }).check()
      await page.getByRole('radio', { name: /^Medium/ }).check()
      await page.getByRole('button', { name: 'Start' }).click()
      await expect.poll(() => steps(page), { timeout: 30_000 }).toMatch(/Started container|Container started/)
      await page.waitForURL(isAtLab(username), { timeout: 60_000 })
      const { body } = await fleet.as(username).userStatus()
      const output = await runCell(
        page,
        'import os; print(os.getuid(), os.environ["CPU_LIMIT"], os.environ["MEM_LIMIT"])',
      )
      const { limits } = body.quotas as { limits: { cpu: number; memory: number } }
      expect(output.trim()).toBe(`${body.uid} ${limits.cpu} ${limits.memory}`)
      await page.goto(`${platform().hub(version).url}/hub/home`)
      await page.locator('#stop').click()
      await eventually('the namespace is gone', async () => !(await fleet.world.namespaceOf(username)), 60_000)
      expect(await fleet.world.leftOf(username)).toEqual([])
      await page.context().close()
    },
    limitMs,
  )
})

test(
  'a lab that cannot start says why, in words, on the page',
  async () => {
    const page = await platform().login(6, 'broken')
    await page.getByRole('button', { name: 'Start' }).click()
    await expect.poll(() => steps(page), { timeout: 60_000 }).toMatch(/exit code 3[\s\S]*there is no such kernel/)
    await page.context().close()
  },
  limitMs,
)

test(
  'a replica is killed that serves the progress, and two tabs notice nothing',
  async () => {
    const { fleet, login, openGate, podUid } = platform()
    const username = 'gated-tabs'
    const page = await login(6, username)
    await page.getByRole('button', { name: 'Start' }).click()
    await expect.poll(() => steps(page), { timeout: 30_000 }).toMatch(/Started container|Container started/)
    const second = await page.context().newPage()
    await second.goto(page.url())
    await expect.poll(() => steps(second), { timeout: 10_000 }).toMatch(/Started container|Container started/)
    const [uid, told] = [await podUid(username), await steps(page)]
    await fleet.kill(await servingReplica(fleet))
    await openGate(username)
    await Promise.all([page, second].map(each => each.waitForURL(isAtLab(username), { timeout: 60_000 })))
    expect(await podUid(username)).toBe(uid)
    expect(told).not.toMatch(/failed|error/i)
    await page.context().close()
  },
  limitMs,
)

test(
  'the Hub is killed and started again: labs run on, and who was spawning asks again',
  async () => {
    const { fleet, hub, openGate, podUid, visitor } = platform()
    const running = await visitor(6, fleet.user().username)
    await running.spawn(chosen)
    expect(await running.settled(60_000)).toMatchObject({ ready: true })
    const uid = await podUid(running.username)
    const spawning = await visitor(6, 'gated-restart')
    await spawning.spawn(chosen)
    const first = await eventually('its pod', () => podUid(spawning.username))
    await hub(6).kill()
    expect((await running.page('/api')).status).toBe(200)
    await hub(6).start()
    expect(await running.server()).toMatchObject({ ready: true, pending: null })
    expect((await running.page('/lab')).status).toBe(200)
    await spawning.spawn(chosen)
    await eventually(
      'a pod of the new spawn',
      async () => ![undefined, first].includes(await podUid(spawning.username)),
      60_000,
    )
    await openGate(spawning.username)
    expect(await spawning.settled(60_000)).toMatchObject({ ready: true })
    expect(await podUid(running.username)).toBe(uid)
  },
  limitMs,
)

test(
  'the controller is away while the Hub starts: no lab is lost',
  async () => {
    const { fleet, hub, podUid, visitor, way } = platform()
    const running = await visitor(6, fleet.user().username)
    await running.spawn(chosen)
    expect(await running.settled(60_000)).toMatchObject({ ready: true })
    const uid = await podUid(running.username)
    await hub(6).kill()
    await way.shut()
    await hub(6).start()
    await systemClock.sleep(outageMs)
    expect(await running.server()).toMatchObject({ ready: true, pending: null })
    expect((await running.page('/lab')).status).toBe(200)
    await way.open()
    await running.stop()
    expect(await running.settled(60_000)).not.toMatchObject({ ready: true })
    expect(uid).toBeDefined()
    await eventually('the namespace is gone', async () => !(await fleet.world.namespaceOf(running.username)), 60_000)
  },
  limitMs + outageMs,
)

test(
  'a bot spawns by JSON with nothing but type, tag and size, however long it takes',
  async () => {
    const { openGate, visitor, fleet } = platform()
    const bot = await visitor(5, 'gated-bot')
    const begunMs = systemClock.monotonicMs()
    await bot.spawnByApi({ image_tag: 'w_2026_46', size: 'large' })
    await systemClock.sleep(slowSpawnMs)
    expect(await bot.server()).toMatchObject({ pending: 'spawn' })
    await openGate(bot.username)
    expect(await bot.settled(60_000)).toMatchObject({ ready: true })
    expect(systemClock.monotonicMs() - begunMs).toBeGreaterThan(slowSpawnMs)
    expect((await fleet.as(bot.username).userStatus()).body.options).toMatchObject({ size: 'large' })
  },
  limitMs + slowSpawnMs,
)

test(
  'a spawn that its user gives up leaves nothing',
  async () => {
    const { fleet, podUid, visitor } = platform()
    const user = await visitor(5, 'gated-stop')
    await user.spawn(chosen)
    await eventually('its pod', () => podUid(user.username))
    await user.stop()
    await user.settled(60_000)
    await eventually('the namespace is gone', async () => !(await fleet.world.namespaceOf(user.username)), 60_000)
  },
  limitMs,
)

test(
  'options that the form has no more, and named servers, are refused in words',
  async () => {
    const { fleet, visitor } = platform()
    const user = await visitor(6, fleet.user().username)
    const words = await user.spawn({ image_type: 'recommended', size: 'gone' }).then(
      async () => {
        const told: string[] = []
        for await (const { message } of user.progress()) told.push(message ?? '')
        return told.join('\n')
      },
      (refusal: HubRefusal) => refusal.message,
    )
    expect(words).toMatch(/size/)
    await expect(user.spawnByApi(chosen, 'second')).rejects.toThrow(/[Nn]amed servers are not/)
  },
  limitMs,
)
