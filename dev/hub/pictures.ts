/** Takes the picture docs/hub.png of the steps to a lab: login, form, progress, and a cell that has run. */
import type { Page } from 'playwright-core'
import { username } from '../demo/lab.ts'
import { arrange } from '../pictures/arrange.ts'
import { createProgress } from '../process/progress.ts'
import { launchBrowser } from '../setup/browser.ts'
import { setup } from '../setup/setup.ts'
import { runCell } from './notebook.ts'
import { type Platform, withPlatform } from './platform.ts'

const size = { width: 960, height: 720 }
const limitMs = 120_000

/** @param file path of the picture: four steps in two rows */
export async function takeHubPicture(file: string, signal: AbortSignal): Promise<void> {
  const progress = createProgress()
  await setup(['browser'], progress, signal)
  const options = { version: 6, replicas: 2, users: 3, progress, signal } as const
  await withPlatform(options, async platform => {
    const browser = await launchBrowser()
    const take = async () => arrange(browser, await walk(await browser.newPage({ viewport: size }), platform), file)
    await progress.part('picture of the Hub', take).finally(() => browser.close())
  })
}

/** Goes from the login to a cell that has run; returns screenshots of the steps. */
async function walk(page: Page, { hub, stack }: Platform): Promise<readonly Buffer[]> {
  const pictures: Buffer[] = []
  const take = async () => void pictures.push(await page.screenshot())
  await page.goto(hub.url)
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(stack.users[username]!.token)
  await take()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('radio', { name: /recommended/ }).check()
  await take()
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Event log').click()
  await page.locator('.progress-log-event', { hasText: 'Container started' }).waitFor({ timeout: limitMs })
  await take()
  await page.waitForURL(/\/user\/ada\/lab/, { timeout: limitMs, waitUntil: 'commit' })
  await runCell(page, 'import os; print(os.getuid(), os.environ["CPU_LIMIT"], os.environ["MEM_LIMIT"])')
  await take()
  return pictures
}
