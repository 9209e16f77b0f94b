/** Takes the picture docs/api.png of a replica's API page, and checks that the page contacts no other host. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { stringify } from 'yaml'
import { waitUntil } from '../process/api-client.ts'
import { createProgress } from '../process/progress.ts'
import { openRun } from '../run/run.ts'
import { launchBrowser } from '../setup/browser.ts'
import { setup } from '../setup/setup.ts'
import { Replica } from '../stack/replicas.ts'

const prefix = '/nublado/spawner/v1'
const size = { width: 1180, height: 1500 }
const limitMs = 60_000

/** @throws when the page breaks its own policy, contacts another host, or does not show all operations */
export async function takePicture(file: string, signal: AbortSignal): Promise<void> {
  const progress = createProgress()
  await setup(['browser'], progress, signal)
  const { stateDir, close } = await openRun(progress)
  try {
    await progress.part('picture of the API', async () => {
      const replica = await Replica.start({ stateDir, name: 'replica', configFile: configIn(stateDir), restart: false })
      await waitUntil(() => answers(replica.monitoringUrl), { what: 'the replica', limitMs, signal })
      const browser = await launchBrowser()
      await photograph(browser, replica.url, file).finally(() => browser.close())
    })
  } finally {
    await close()
  }
}

/** Configuration of a replica without Redis and cluster: it serves its page all the same. */
function configIn(stateDir: string): string {
  const cluster = { name: 'none', cluster: { server: 'https://127.0.0.1:1' } }
  const context = { name: 'none', context: { cluster: 'none', user: 'none' } }
  const kubeconfig = { clusters: [cluster], users: [{ name: 'none', user: {} }], contexts: [context] }
  const config = {
    api: { host: '127.0.0.1' },
    redis: { url: 'redis://127.0.0.1:1' },
    kubernetes: { kubeconfig: 'kubeconfig.json' },
    identity: { provider: 'static', static: { file: 'tokens.yaml' } },
    sealing: { keyFiles: ['sealing.key'] },
  }
  const files = {
    'kubeconfig.json': JSON.stringify({ ...kubeconfig, 'current-context': 'none' }),
    'tokens.yaml': 'tokens: []\n',
    'sealing.key': Buffer.alloc(32).toString('base64'),
    'skylab.yaml': stringify(config),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(stateDir, name), text)
  return join(stateDir, 'skylab.yaml')
}

async function answers(url: string): Promise<boolean> {
  return (await fetch(`${url}/healthz`).catch(() => null))?.ok ?? false
}

async function photograph(browser: Browser, url: string, file: string): Promise<void> {
  const page = await browser.newPage({ viewport: size })
  const faults: string[] = []
  // The page logs the refusal of the unknown token as an error too.
  const isFault = (words: string) => !words.includes('status of 401')
  page.on('console', message => message.type() === 'error' && isFault(message.text()) && faults.push(message.text()))
  page.on('pageerror', error => faults.push(error.message))
  page.on('request', request => {
    if (!request.url().startsWith(`${url}/`) && !request.url().startsWith('data:')) faults.push(request.url())
  })
  await page.goto(`${url}${prefix}/docs`)
  await page.locator('.opblock').first().waitFor({ timeout: limitMs })
  const document = (await (await fetch(`${url}${prefix}/openapi.json`)).json()) as { paths: Record<string, object> }
  const operations = Object.values(document.paths).flatMap(path => Object.keys(path)).length
  const shown = await page.locator('.opblock').count()
  if (shown !== operations) faults.push(`${shown} operations are shown of ${operations}`)
  await open(page, 'createLab')
  await page.screenshot({ path: file })
  await use(page)
  if (faults.length > 0) throw new Error(`the page of the API: ${faults.join('; ')}`)
}

async function open(page: Page, operationId: string): Promise<void> {
  const block = page.locator(`.opblock[id$="${operationId}"]`)
  await block.locator('.opblock-summary-control').click()
  await block.locator('.responses-table').waitFor({ timeout: limitMs })
}

/** Uses the page as a person does: its policy must let it send a request to the replica and show the response. */
async function use(page: Page): Promise<void> {
  await page.locator('.btn.authorize').click()
  await page.locator('.auth-container input').fill('a-token-that-nobody-has')
  await page.locator('.auth-container .btn.authorize').click()
  await page.locator('.btn-done').click()
  const block = page.locator('.opblock[id$="getOwnLab"]')
  await block.locator('.opblock-summary-control').click()
  await block.locator('.try-out__btn').click()
  const answered = page.waitForResponse(response => response.url().endsWith('/user-status'))
  await block.locator('.execute').click()
  const status = (await answered).status()
  await block
    .locator('.live-responses-table .response-col_status', { hasText: String(status) })
    .waitFor({ timeout: limitMs })
}
