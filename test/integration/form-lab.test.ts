/** From the form to the lab: the user's choice in a browser becomes the lab. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../../dev/setup/browser.ts'
import { eventually } from '../kit/cluster/world.ts'
import type { Client } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { type Hub, startHub } from '../kit/hub/hub.ts'
import { FakeRegistry } from '../kit/images/registry.ts'

const registry = await FakeRegistry.start()
for (const tag of ['recommended', 'w_2026_02', 'w_2026_01']) registry.push(tag, 1000)
const digest = registry.push('d_2026_01_12', 2000)
const { repository } = registry
const host = registry.server.host

const images = { registry: host, docker: { repository }, refreshIntervalSeconds: 3600 }
const fleet = useFleet({ replicas: 2, config: { images } })
let browser: Browser
let hub: Hub
/** The user of the form. */
let user: Client

beforeAll(async () => {
  browser = await launchBrowser()
  hub = await startHub(async options => `Answered ${(await user.create(options)).status}`)
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
  await registry.server.stop()
})

/** The user's form, once the replicas know the registry's images. */
function formOf(client: Client): Promise<string> {
  return eventually('a form with a menu', async () => {
    const { body } = await client.request<string>(`lab-form/${client.username}`)
    return body.includes('<select') ? body : null
  })
}

test.each([
  ['with its script', true],
  ['without scripts', false],
])('%s, the form makes a lab of an image of the menu, a size and an option', async (_, javaScriptEnabled) => {
  user = fleet().user()
  const context = await browser.newContext({ javaScriptEnabled })
  const page = await context.newPage()
  await page.goto(hub.show(await formOf(user)))
  if (!javaScriptEnabled) await page.getByRole('radio', { name: /from the menu/ }).check()
  await page.getByRole('combobox', { name: 'Menu' }).selectOption(`${host}/${repository}:d_2026_01_12`)
  await page.getByRole('radio', { name: /^Medium/ }).check()
  await page.getByRole('checkbox', { name: /^Log more/ }).check()
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('heading', { name: 'Answered 303' }).waitFor()
  await context.close()
  expect((await user.follow()).outcome).toBe('complete')
  const { spec } = await fleet().world.podOf(user.username)
  expect(spec.containers[0].image).toBe(`${host}/${repository}:d_2026_01_12@${digest}`)
  expect(spec.containers[0].resources.limits).toEqual({ cpu: '2', memory: '8Gi', 'ephemeral-storage': '20Gi' })
  expect((await user.userStatus()).body.options).toMatchObject({ enable_debug: true, size: 'medium' })
})
