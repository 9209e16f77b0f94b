/** Debian's Chromium for tests of what people see, and a judge of whether everybody can use it. */
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import { findProgram } from '../../../box/command.ts'

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** @throws where it is not installed: a test of it is never left out */
export function launchBrowser(): Promise<Browser> {
  const executablePath = findProgram('chromium')
  if (executablePath === null) throw new Error('there is no chromium: npm test installs it, as root')
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
  readonly passes: readonly { readonly id: string }[]
}

/** What axe finds wrong in a page, each by its rule and the elements; and which rules found something to look at. */
export async function axeOn(page: Page): Promise<{ violations: string[]; looked: string[] }> {
  await page.addScriptTag({ path: axe })
  const { violations, passes } = await page.evaluate<AxeResults>('axe.run()')
  return {
    violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
    looked: passes.map(({ id }) => id),
  }
}
