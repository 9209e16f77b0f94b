/** Takes pictures of the way from the login to a lab: docs/hub-login.png, hub-form.png, hub-progress.png, hub-lab.png. */
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { createProgress } from '../progress.ts'
import { setup } from '../setup.ts'
import { type Platform, withPlatform } from './platform.ts'

const username = 'ada'
const size = { width: 960, height: 640 }
const limitMs = 120_000

/** @param folder where the pictures go */
export async function takeHubPictures(folder: string, signal: AbortSignal): Promise<void> {
  const progress = createProgress()
  const tools = await setup(['browser'], progress, signal)
  const options = { version: 6, replicas: 2, users: 3, progress, signal } as const
  await withPlatform(options, async platform => {
    const browser = await chromium.launch({ executablePath: tools.program('chromium'), args: ['--no-sandbox'] })
    const page = await browser.newPage({ viewport: size })
    await progress.part('pictures of the Hub', () => walk(page, platform, folder)).finally(() => browser.close())
  })
}

async function walk(page: Page, { hub, stack }: Platform, folder: string): Promise<void> {
  const take = (name: string) => page.screenshot({ path: join(folder, `hub-${name}.png`) })
  await page.goto(hub.url)
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(stack.users[username]!.token)
  await take('login')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('radio', { name: /recommended/ }).check()
  await page.setViewportSize({ ...size, height: 900 })
  await take('form')
  await page.setViewportSize(size)
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Event log').click()
  await page.locator('.progress-log-event', { hasText: 'Container started' }).waitFor({ timeout: limitMs })
  await take('progress')
  await page.waitForURL(/\/user\/ada\/lab/, { timeout: limitMs, waitUntil: 'commit' })
  await page.locator('.jp-LauncherCard').first().waitFor({ timeout: limitMs })
  await take('lab')
}
