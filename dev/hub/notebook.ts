/** Uses JupyterLab as a person does, with a browser. */
import type { Page } from 'playwright-core'
import { waitUntil } from '../process/api-client.ts'

const limitMs = 120_000
const outputMs = 3000

/** Opens a notebook by the launcher, runs one cell and resolves with its output. The code may run more than once. */
export async function runCell(page: Page, code: string): Promise<string> {
  await page.locator('.jp-LauncherCard[data-category="Notebook"]').first().click({ timeout: limitMs })
  const cell = page.locator('.jp-Notebook .cm-content').first()
  await cell.waitFor({ timeout: limitMs })
  const output = page.locator('.jp-OutputArea-output').first()
  // JupyterLab loses text that is typed while the notebook loads, and runs that begin while the kernel connects. It
  // shows neither, so text is typed until the notebook has it, and run until there is output.
  const run = async () => {
    if ((await cell.textContent({ timeout: limitMs })) !== code) await cell.fill(code, { timeout: outputMs })
    await cell.click({ timeout: outputMs })
    await page.keyboard.press('Control+Enter')
    await output.waitFor({ timeout: outputMs })
    return true
  }
  await waitUntil(run, { what: 'the output of a cell', limitMs }).catch(async error => {
    throw new Error(`${error.message}; the page says: ${await page.locator('body').textContent()}`, { cause: error })
  })
  return (await output.textContent()) ?? ''
}
