/**
 * Arrivals at the host of an app that end before their code is used. A service worker of the app learns the address of each document
 * of its host, so none may be made there.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { newId } from '../../../src/store/apps/ids.ts'
import { echo } from '../../kit/gateway/raw-app.ts'
import { GatewaySite, statusOf } from '../../kit/gateway/site.ts'
import { appDomain, hostOf, ledTo, SplitBrowser } from '../../kit/gateway/split-site.ts'

let site: GatewaySite
beforeAll(async () => {
  site = await GatewaySite.start({ config: { gateway: { appDomain } } })
  await site.app('evil', echo)
})
afterAll(() => site?.stop())

const arrival = (code = newId()) => `GET /console/enter?code=${code}&next=%2Fconsole%2Fapps%2Fevil%2F`
const ask = (line: string, more: readonly string[] = []) => site.ask(line, more, { at: hostOf('evil') })

/** Expects an answer that makes no document, and then its page. */
async function expectLeft(answer: string, is: string, status: number, more: readonly string[] = []): Promise<void> {
  expect([statusOf(answer), ledTo(answer)]).toEqual([303, `/console/enter?ended=${is}`])
  expect(answer).toMatch(/^referrer-policy: no-referrer\r$/im)
  expect(answer).toMatch(/^cross-origin-opener-policy: same-origin\r$/im)
  expect(answer).toMatch(/^cache-control: no-store\r$/im)
  expect(answer).not.toMatch(/^set-cookie/im)
  const page = await ask(`GET /console/enter?ended=${is}`, more)
  expect([statusOf(page), ledTo(page)]).toEqual([status, undefined])
}

test('an arrival leaves its address when a head has too many headers', async () => {
  const many = Array.from({ length: 200 }, (_, i) => `X-${i}: 1`)
  await expectLeft(await ask(arrival(), many), 'refused', 431, many)
  await expectLeft(await ask(arrival(), ['Authorization: a', 'Authorization: b']), 'refused', 400)
})

test('an arrival leaves its address when its address has tried too much', async () => {
  const from = ['X-Forwarded-For: 203.0.113.77']
  const answers = await Promise.all(Array.from({ length: 130 }, () => ask(arrival(), from)))
  const slow = answers.filter(answer => ledTo(answer) === '/console/enter?ended=slow')
  expect(slow.length).toBeGreaterThan(10)
  await expectLeft(slow[0]!, 'slow', 429, from)
})

test('an arrival leaves its address while Redis is away, and spends no try then', async () => {
  const own = await GatewaySite.start({ config: { gateway: { appDomain } } })
  onTestFinished(() => own.stop())
  await own.app('evil', echo)
  const browser = new SplitBrowser(own)
  await browser.logIn('ada')
  const address = await browser.code('evil')
  await own.redis.pause()
  const { pathname, search } = new URL(address)
  const from = ['X-Forwarded-For: 203.0.113.78']
  const arrive = () => own.ask(`GET ${pathname}${search}`, from, { at: hostOf('evil') })
  const away = []
  // More than an address has, and fewer at once.
  for (let i = 0; i < 3; i++) away.push(...(await Promise.all(Array.from({ length: 80 }, arrive))))
  await own.redis.resume()
  expect(new Set(away.map(ledTo))).toEqual(new Set(['/console/enter?ended=unavailable']))
  await expectLeft(away[0]!, 'unavailable', 503)
  const later = await own.ask(arrival(), from, { at: hostOf('evil') })
  expect(ledTo(later)).toBe('/console/enter?ended=foreign')
})

test('the page of an end that nobody knows is that of a code that is none', async () => {
  const answer = await ask('GET /console/enter?ended=whatever')
  expect(ledTo(answer)).toBe('/console/enter?ended=foreign')
})
