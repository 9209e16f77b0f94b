/** One picture of four screenshots, in two rows. */
import type { Browser } from 'playwright-core'

/** Of each screenshot in the picture. */
const shown = { width: 640, height: 480 }

/** @param file path of the picture */
export async function arrange(browser: Browser, pictures: readonly Buffer[], file: string): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 2 * shown.width, height: 2 * shown.height } })
  const style = `width:${shown.width - 8}px;margin:4px;float:left;outline:1px solid #bbb`
  const images = pictures.map(data => `<img src="data:image/png;base64,${data.toString('base64')}" style="${style}">`)
  await page.setContent(`<body style="margin:0">${images.join('')}`, { waitUntil: 'load' })
  await page.screenshot({ path: file, fullPage: true })
}
