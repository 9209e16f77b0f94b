/** Takes the picture docs/form.png of the lab form, in light and in dark mode. */
import type { Browser } from 'playwright-core'
import { configSchema } from '../../src/config/schema.ts'
import { offerTo } from '../../src/form/offer.ts'
import { renderForm } from '../../src/form/render.ts'
import { exampleCaller, exampleCatalogue, examplePrepulled } from '../../test/kit/form/offer.ts'
import { createProgress } from '../process/progress.ts'
import { launchBrowser } from '../setup/browser.ts'
import { setup } from '../setup/setup.ts'

const schemes = ['light', 'dark'] as const
const width = 560

export async function takeFormPicture(file: string, signal: AbortSignal): Promise<void> {
  const progress = createProgress()
  await setup(['browser'], progress, signal)
  await progress.part('picture of the form', async () => {
    const browser = await launchBrowser()
    await photograph(browser, file).finally(() => browser.close())
  })
}

async function photograph(browser: Browser, file: string): Promise<void> {
  const pictures: string[] = []
  for (const colorScheme of schemes) {
    const page = await browser.newPage({ viewport: { width, height: 100 }, colorScheme })
    await page.setContent(pageOf(form()))
    pictures.push((await page.screenshot({ fullPage: true })).toString('base64'))
  }
  const page = await browser.newPage({ viewport: { width: schemes.length * width, height: 100 } })
  const images = pictures.map(data => `<img src="data:image/png;base64,${data}" alt="" style="float:left">`)
  await page.setContent(pageOf(images.join('')), { waitUntil: 'load' })
  await page.screenshot({ path: file, fullPage: true })
}

function form(): string {
  const config = configSchema.parse({
    form: { help: 'Small is enough for most tutorials.', helpUrl: 'https://example.org/' },
  })
  const known = { catalogue: exampleCatalogue, prepulled: examplePrepulled }
  return renderForm(config.form, offerTo(exampleCaller, config, known))
}

const pageOf = (content: string) =>
  `<!doctype html><html lang="en"><body style="margin:0;font-family:'DejaVu Sans',sans-serif">${content}</body></html>`
