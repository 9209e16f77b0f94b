/** One app, or one visitor, that takes all it can get: its neighbours are served as before. */
import { connect, type Socket } from 'node:net'
import { waitUntil } from '../../../../dev/process/api-client.ts'
import { systemClock } from '../../../../src/base/clock.ts'
import { attack } from '../../../kit/attack/attack.ts'
import { echo } from '../../../kit/gateway/raw-app.ts'
import { type GatewaySite, host, statusOf } from '../../../kit/gateway/site.ts'
import type { Script } from '../../../kit/gateway/wires.ts'
import { isWhole, sharedSite } from './shared.ts'

const silent: Script = () => {}
const bigBytes = 20_000_000
/** An answer that is larger than all buffers on its way. */
const big: Script = async wire => {
  await wire.has('\r\n\r\n')
  wire.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bigBytes}\r\n\r\n`)
  wire.pour(bigBytes)
}

/** In a row, in which nothing more was written. */
const quietLooks = isWhole ? 8 : 2

const asked = isWhole ? 300 : 60
/** In a whole run, which has the machine to itself; else the machine decides about the slowest requests. */
const share = isWhole ? 0.99 : 0.5
const mostTimes = 2
/** Below it, a delay is that of the machine. */
const noiseMs = isWhole ? 20 : 500

interface Burden {
  readonly name: string
  readonly count: number
  /** Resolves when it has landed. */
  begin(site: GatewaySite, cookie: string, count: number): Promise<Socket[]>
}

const get = (path: string, cookie: string) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\n\r\n`

const burdens: readonly Burden[] = [
  {
    name: 'an app that never answers',
    count: isWhole ? 200 : 40,
    begin: async (site, cookie, count) => {
      const app = await site.app('silent', silent)
      const clients = await Promise.all(Array.from({ length: count }, () => site.client()))
      for (const client of clients) client.write(get('/console/apps/silent/', cookie))
      // As many as one app may have connections; the others wait.
      await app.wire(Math.min(count, 128))
      return clients.map(({ socket }) => socket)
    },
  },
  {
    name: 'half heads',
    count: isWhole ? 10_000 : 200,
    begin: async (site, _, count) => {
      const { port } = site.gateways[0]!
      const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => {}))
      await Promise.all(sockets.map(socket => new Promise<void>(resolve => socket.once('connect', () => resolve()))))
      for (const socket of sockets) socket.write('GET /console/apps/')
      return sockets
    },
  },
  {
    name: 'readers that take nothing',
    count: isWhole ? 200 : 20,
    begin: async (site, cookie, count) => {
      const app = await site.app('big', big)
      const clients = await Promise.all(Array.from({ length: count }, () => site.client()))
      for (const client of clients) {
        client.write(get('/console/apps/big/', cookie))
        client.socket.pause()
      }
      await app.wire(Math.min(count, 128))
      const written = () => app.wires.reduce((sum, { socket }) => sum + socket.bytesWritten, 0)
      let [before, looks] = [-1, 0]
      // The kernel moves bytes on in steps.
      const isStuck = async () => {
        looks = written() === before ? looks + 1 : 0
        before = written()
        return looks === quietLooks
      }
      await waitUntil(isStuck, { what: 'all buffers are full', limitMs: 60_000 })
      return clients.map(({ socket }) => socket)
    },
  },
]

for (const burden of burdens) {
  attack(`gateway G9 ${burden.name} hurts no other app`, async trial => {
    const site = await sharedSite()
    await site.app('neighbour', echo)
    const cookie = await site.login('grace')
    const alone = await timesOf(site, cookie)
    trial.injected(burden.count)
    const sockets = await burden.begin(site, await site.login('ada'), burden.count)
    trial.landed(sockets.filter(({ destroyed }) => !destroyed).length)
    const beside = await timesOf(site, cookie)
    trial.figure('alone', Math.round(alone))
    trial.figure('beside', Math.round(beside))
    for (const socket of sockets) socket.destroy()
    if (beside > Math.max(mostTimes * alone, alone + noiseMs)) {
      trial.violation(`p${share * 100} is ${Math.round(beside)} ms, and was ${Math.round(alone)} ms`)
    }
  })
}

/** Of requests one after another, in ms. */
async function timesOf(site: GatewaySite, cookie: string): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < asked; turn++) {
    const beganMs = systemClock.monotonicMs()
    const answer = await site.ask('GET /console/apps/neighbour/', [`Cookie: ${cookie}`])
    if (statusOf(answer) !== 200) throw new Error(`a neighbour was answered ${statusOf(answer)}`)
    times.push(systemClock.monotonicMs() - beganMs)
  }
  return times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1]!
}
