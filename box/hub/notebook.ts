/** What a person does in JupyterLab, by a browser. */
import type { Page } from 'playwright-core'
import { waitUntil } from '../api-client.ts'

const limitMs = 90_000
const outputMs = 3000

/** Opens a notebook by the launcher and runs one cell; resolves with what it has printed. The code may run more than once. */
export async function runCell(page: Page, code: string): Promise<string> {
  await page.locator('.jp-LauncherCard[data-category="Notebook"]').first().click({ timeout: limitMs })
  const cell = page.locator('.jp-Notebook .cm-content').first()
  await cell.click({ timeout: limitMs })
  await page.keyboard.type(code)
  const output = page.locator('.jp-OutputArea-output').first()
  // JupyterLab forgets what is run while its kernel connects, which it does not show: so it is run until it has run.
  const run = async () => {
    await cell.click()
    await page.keyboard.press('Control+Enter')
    await output.waitFor({ timeout: outputMs })
    return true
  }
  await waitUntil(run, { what: 'the output of a cell', limitMs })
  return (await output.textContent()) ?? ''
}
