/** A lab's page, under the ingress' host and opened by an administrator, tries to delete labs. In Chromium. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { launchBrowser } from '../../dev/setup/browser.ts'
import { startApiServer } from '../../src/api/server.ts'
import { configSchema } from '../../src/config/schema.ts'
import { createGafaelfawrIdentity } from '../../src/identity/gafaelfawr.ts'
import { apiParts, prefix, scriptedLabs } from '../kit/api/scripted-api.ts'
import { ManualClock } from '../kit/clock.ts'
import { testParts } from '../kit/identity/parts.ts'

const secret = 'administrators-come-with-this'
const notebook = '/nb/user/eve/notebook.html'
const victim = `${prefix}/labs/victim`

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

/** Scripts of the page: each sends a DELETE, and returns the status. */
const attempts: Readonly<Record<string, string>> = {
  'as it comes': `fetch(victim, { method: 'DELETE' })`,
  'without a Referer': `fetch(victim, { method: 'DELETE', referrerPolicy: 'no-referrer' })`,
  'with the Referer of the page of the API': `fetch(victim, { method: 'DELETE', referrer: '${prefix}/docs/' })`,
  'with headers that only browsers set': `fetch(victim, { method: 'DELETE', headers: { 'Sec-Fetch-Site': 'none', Origin: '' } })`,
  'by XMLHttpRequest': `new Promise(resolve => {
    const xhr = new XMLHttpRequest()
    xhr.onload = () => resolve({ status: xhr.status })
    xhr.open('DELETE', victim)
    xhr.send()
  })`,
  'by a worker': `new Promise(resolve => {
    const code = "fetch('" + location.origin + victim + "', { method: 'DELETE' }).then(({ status }) => postMessage({ status }))"
    new Worker(URL.createObjectURL(new Blob([code]))).onmessage = ({ data }) => resolve(data)
  })`,
  'in a frame': `new Promise(resolve => {
    const frame = document.createElement('iframe')
    frame.onload = () => resolve(frame.contentWindow.fetch(victim, { method: 'DELETE' }))
    frame.src = '${notebook}'
    document.body.append(frame)
  })`,
}

/** The API as behind Gafaelfawr, with a record of deletions. */
async function startController(context: TestContext, deleted: string[]): Promise<number> {
  const gafaelfawr = { baseUrl: 'https://data.example.org', adminSecretFiles: ['x'], userSecretFiles: ['y'] }
  const config = configSchema.parse({
    identity: { provider: 'gafaelfawr', gafaelfawr },
    api: { host: '127.0.0.1', port: 0 },
  })
  const secrets = { user: ['users-come-with-this'], admin: [secret], lab: [] }
  const identity = createGafaelfawrIdentity(config.identity.gafaelfawr!, secrets, testParts())
  const labs = scriptedLabs({ delete: async username => deleted.push(username) > 0, running: async () => ['victim'] })
  const clock = new ManualClock()
  const server = await startApiServer(apiParts({ config, identity, labs, clock }))
  context.onTestFinished(async () => {
    const closed = server.close(1)
    clock.advance(1)
    await closed
  })
  return server.port
}

/** An ingress that accepts the administrator's cookie, and passes requests on unchanged; labs are beside the API. */
async function startIngress(context: TestContext, controllerPort: number): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    if (incoming.url === notebook)
      outgoing.writeHead(200, { 'Content-Type': 'text/html' }).end('<body>A notebook</body>')
    else if (incoming.headers.cookie !== 'gafaelfawr=admin') outgoing.writeHead(401).end()
    else handOn(incoming, outgoing, controllerPort)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function handOn(incoming: IncomingMessage, outgoing: ServerResponse, port: number): void {
  const { cookie: _, ...headers } = incoming.headers
  const added = { 'x-auth-request-user': 'admin', 'x-skylab-ingress-secret': secret }
  const { method, url } = incoming
  const sent = request({ host: '127.0.0.1', port, method, path: url, headers: { ...headers, ...added } }, answer => {
    outgoing.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(outgoing)
  })
  incoming.pipe(sent)
}

test('the page of a lab deletes no lab by the cookie of an administrator, whatever its script does', async context => {
  const deleted: string[] = []
  const url = await startIngress(context, await startController(context, deleted))
  const opened = await browser.newContext()
  context.onTestFinished(() => opened.close())
  await opened.addCookies([{ name: 'gafaelfawr', value: 'admin', url }])
  const page = await opened.newPage()
  await page.goto(`${url}${notebook}`)
  const statuses: Record<string, number> = {}
  for (const [name, code] of Object.entries(attempts)) {
    const script = `(async () => { const victim = '${victim}'; return (await ${code}).status })()`
    statuses[name] = await page.evaluate<number>(script)
  }
  expect(statuses).toEqual(Object.fromEntries(Object.keys(attempts).map(name => [name, 403])))
  expect(deleted).toEqual([])
  // The cookie itself is valid: a program that sends it may delete.
  const byProgram = await fetch(`${url}${victim}`, { method: 'DELETE', headers: { cookie: 'gafaelfawr=admin' } })
  expect([byProgram.status, deleted]).toEqual([202, ['victim']])
})
