/** `rewrite: true` before apps of Python's own servers, which stand at the root of a host and know of no prefix. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../../../dev/process/api-client.ts'
import { freePort } from '../../../dev/process/ports.ts'
import { startProcess, stopProcess } from '../../../dev/process/process.ts'
import { GatewaySite, origin, statusOf } from '../../kit/gateway/site.ts'

const program = fileURLToPath(new URL('../../kit/gateway/rooted_app.py', import.meta.url))
const prefix = '/console/apps/rooted'

let site: GatewaySite
let login: string
const stops: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  site = await GatewaySite.start()
  login = await site.login('ada')
  const folder = join(site.stateDir, 'served')
  mkdirSync(join(folder, 'docs'), { recursive: true })
  writeFileSync(join(folder, 'docs', 'index.html'), '<p>the docs</p>')
  await Promise.all([serve('rooted', 'app'), serve('files', 'files', folder)])
})
afterAll(async () => {
  await site?.stop()
  await Promise.all(stops.map(stop => stop()))
})

/** Starts an app, with its route. */
async function serve(id: string, ...args: readonly string[]): Promise<void> {
  const { stateDir } = site
  const port = await freePort()
  const name = `python-${id}`
  await startProcess({ name, command: 'python3', args: [program, String(port), ...args], stateDir })
  stops.push(() => stopProcess(stateDir, name, 0))
  const isListening = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
  await waitUntil(isListening, { what: name, limitMs: 20_000 })
  await site.route(id, { address: { ip: '127.0.0.1', port }, host: `app-${id}.hub:5000`, rewrite: true })
}

const get = (path: string, ...cookies: readonly string[]): Promise<string> =>
  site.ask(`GET ${path}`, [`Cookie: ${[login, ...cookies].join('; ')}`])
const headersOf = (answer: string, name: string): string[] =>
  [...answer.matchAll(new RegExp(`^${name}: (.*)\\r$`, 'gim'))].map(([, value]) => value!)
const own = (answer: string) => headersOf(answer, 'set-cookie').filter(each => !each.startsWith('phapplication-'))

describe('an app at the root of its host', () => {
  test('sees paths without the prefix, and is told the prefix', async () => {
    const answer = await get(`${prefix}/account/?a=b`)
    expect([headersOf(answer, 'seen-path'), headersOf(answer, 'seen-prefix')]).toEqual([['/account/'], [prefix]])
  })

  test('sets cookies below the prefix, and gets them back', async () => {
    expect(own(await get(`${prefix}/`))).toEqual([`theme=dark; Path=${prefix}`])
    expect(own(await get(`${prefix}/login`))).toEqual([`sid=1; HttpOnly; Path=${prefix}/account`])
    const answer = await get(`${prefix}/account/`, 'sid=1', 'theme=dark')
    expect(headersOf(answer, 'seen-cookie')).toEqual(['sid=1; theme=dark'])
  })

  test.each([
    ['a path', '/login', `${prefix}/account/`],
    ['an address of its own host', '/moved', `${origin}${prefix}/account/?a=b`],
    ['an address elsewhere', '/away', 'https://elsewhere.example.org/account/'],
  ])('leads by %s to where a browser finds it', async (_, path, location) => {
    const answer = await get(`${prefix}${path}`)
    expect(headersOf(answer, 'location')).toEqual([location])
    const target = new URL(location, origin)
    if (target.origin !== origin) return
    expect(statusOf(await get(target.pathname + target.search))).toBe(200)
  })

  test('keeps its pages as they are: a relative link works, and one from the root leads out of the app', async () => {
    const page = await get(`${prefix}/`)
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(
      ([, href]) => new URL(href!, `${origin}${prefix}/`).pathname,
    )
    expect(links).toEqual([`${prefix}/account/`, '/static/app.css'])
    expect(await Promise.all(links.map(async link => statusOf(await get(link))))).toEqual([200, 404])
  })
})

test('the folders of http.server are found by its own redirects', async () => {
  const moved = await get('/console/apps/files/docs')
  expect([statusOf(moved), headersOf(moved, 'location')]).toEqual([301, ['/console/apps/files/docs/']])
  expect(await get('/console/apps/files/docs/')).toContain('<p>the docs</p>')
})
