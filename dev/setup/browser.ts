/** Debian's Chromium without windows: the same engine, for a third of the processor time. */
import { type Browser, chromium, type Page } from 'playwright-core'
import { findProgram } from '../process/command.ts'
import { browserName } from './debian.ts'

/** @throws when it is not installed: a test that needs it is never skipped */
export function launchBrowser(): Promise<Browser> {
  const executablePath = findProgram(browserName)
  if (executablePath === null) throw new Error(`there is no ${browserName}: npm test installs it, as root`)
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

const openings = 5

/**
 * Opens an address in a page. Each pod of the real node brings a network interface, and Chromium gives up every request
 * under way when an address of the machine comes or goes. In a window it loads the page again by itself.
 */
export async function openPage(page: Page, url: string, options: Parameters<Page['goto']>[1] = {}): Promise<void> {
  for (let left = openings; ; left -= 1) {
    try {
      await page.goto(url, options)
      return
    } catch (error) {
      if (left === 1 || !(error as Error).message.includes('net::ERR_NETWORK_CHANGED')) throw error
    }
  }
}
