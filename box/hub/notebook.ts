/** What a person does in JupyterLab, by a browser. */
import type { Page } from 'playwright-core'
import { waitUntil } from '../api-client.ts'

const limitMs = 90_000
const outputMs = 3000

/** Opens a notebook by the launcher and runs one cell; resolves with what it has printed. The code may run more than once. */
export async function runCell(page: Page, code: string): Promise<string> {
  await page.locator('.jp-LauncherCard[data-category="Notebook"]').first().click({ timeout: limitMs })
  const cell = page.locator('.jp-Notebook .cm-content').first()
  await cell.waitFor({ timeout: limitMs })
  const output = page.locator('.jp-OutputArea-output').first()
  // JupyterLab forgets what is written while it still loads the notebook, and what is run while its kernel connects. It
  // shows neither: so it is written until it stands there, and run until it has run.
  const run = async () => {
    if ((await cell.textContent()) !== code) await cell.fill(code)
    await cell.click()
    await page.keyboard.press('Control+Enter')
    await output.waitFor({ timeout: outputMs })
    return true
  }
  await waitUntil(run, { what: 'the output of a cell', limitMs }).catch(async error => {
    throw new Error(`${error.message}; the page says: ${await page.locator('.jp-LabShell').textContent()}`, {
      cause: error,
    })
  })
  return (await output.textContent()) ?? ''
}
