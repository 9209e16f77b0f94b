/** The pages of the gateway in a browser: everybody can read and use them, and their policy holds. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page as BrowserPage } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchBrowser } from '../../../dev/setup/browser.ts'
import { appPhases } from '../../../src/base/app-route.ts'
import * as pages from '../../../src/gateway/policy/pages.ts'
import { exampleRoute } from '../../kit/gateway/routes.ts'
import { axeOn } from '../../kit/hub/browser.ts'

const shown: Readonly<Record<string, pages.Page>> = {
  login: pages.loginPage({ next: '/console/apps/a/' }),
  failed: pages.loginPage({ problem: 'This token is not known.' }),
  'logged-in': pages.loggedInPage('ada', 'token'),
  'logged-out': pages.loggedOutPage(),
  'not-logged-in': pages.failedLoginPage({ status: 403, says: 'words '.repeat(40), next: '/console/apps/a/' }),
  // Without the header by which it leads on at once.
  farewell: { ...pages.farewellPage('/logged-out'), headers: pages.loggedOutPage().headers },
  forbidden: pages.forbiddenPage(exampleRoute()),
  missing: pages.notFoundPage(),
  silent: pages.problemPage(pages.problems.silent),
  ...Object.fromEntries(
    appPhases.map(phase => [
      phase,
      pages.phasePage(exampleRoute({ phase, message: 'words '.repeat(40) }), { token: 'token' }),
    ]),
  ),
}

let browser: Browser
let server: Server
const posted: string[] = []

beforeAll(async () => {
  browser = await launchBrowser()
  server = createServer(async (incoming, outgoing) => {
    const { status, headers, body } = shown[incoming.url!.slice(1)] ?? pages.notFoundPage()
    if (incoming.method === 'POST') {
      const chunks: Buffer[] = await incoming.toArray()
      posted.push(`${incoming.url} ${incoming.headers.origin} ${Buffer.concat(chunks)}`)
    }
    outgoing.writeHead(status, headers).end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(async () => {
  await browser?.close()
  server?.closeAllConnections()
  server?.close()
})

const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

async function within(name: string, context: BrowserContextOptions, work: (page: BrowserPage) => Promise<void>) {
  const opened = await browser.newContext(context)
  try {
    const page = await opened.newPage()
    await page.goto(`${origin()}/${name}`)
    await work(page)
  } finally {
    await opened.close()
  }
}

describe.each(['light', 'dark'] as const)('the pages of the gateway in %s mode', colorScheme => {
  test.each(Object.keys(shown))('axe finds no fault in the page "%s"', async name => {
    // Without the page's policy, which admits no script, not even axe's.
    await within(name, { colorScheme, bypassCSP: true, viewport: { width: 320, height: 640 } }, async page => {
      const { violations, looked } = await axeOn(page)
      expect(violations).toEqual([])
      expect(looked).toEqual(expect.arrayContaining(['color-contrast', 'document-title', 'html-has-lang']))
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    })
  })
})

test('the policy of a page admits its style, and no script or image', async () => {
  await within('Stopped', {}, async page => {
    expect(await page.evaluate(`getComputedStyle(document.querySelector('main')).maxInlineSize`)).toBe('576px')
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('script'), { text: 'window.ran = 1' }))`,
    )
    expect(await page.evaluate('window.ran')).toBeUndefined()
  })
})

test('the forms of a page are posted to the gateway, with its origin', async () => {
  await within('Stopped', { javaScriptEnabled: false }, async page => {
    await page.getByRole('button', { name: 'Start' }).click()
  })
  await within('login', { javaScriptEnabled: false }, async page => {
    await page.getByLabel('Token').fill('ada-token')
    await page.getByRole('button', { name: 'Log in' }).click()
  })
  expect(posted).toEqual([
    `/console/start/mlflow-x ${origin()} token=token`,
    `/console/login ${origin()} next=%2Fconsole%2Fapps%2Fa%2F&token=ada-token`,
  ])
})
