/** Checks the accessibility of a page. */
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
  readonly passes: readonly { readonly id: string }[]
}

/** The violations that axe finds, by rule and elements; and the rules that had elements to check. */
export async function axeOn(page: Page): Promise<{ violations: string[]; looked: string[] }> {
  await page.addScriptTag({ path: axe })
  const { violations, passes } = await page.evaluate<AxeResults>('axe.run()')
  return {
    violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
    looked: passes.map(({ id }) => id),
  }
}
