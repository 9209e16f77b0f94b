/** Gateways end and begin one after another under traffic, as a rollout lets them: no request is lost. */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { systemClock } from '../../../../src/base/clock.ts'
import { attack } from '../../../kit/attack/attack.ts'
import { echo } from '../../../kit/gateway/raw-app.ts'
import { GatewaySite, host } from '../../../kit/gateway/site.ts'
import { isWhole } from './shared.ts'

const clients = isWhole ? 40 : 8
const sockets = isWhole ? 100 : 10
const rolled = isWhole ? 2 : 1
/** A quarter of it is for balancers. */
const drainSeconds = isWhole ? 20 : 4

attack(
  'gateway drain a rollout loses no request, and closes WebSockets by 1012',
  async trial => {
    const site = await GatewaySite.start({
      gateways: 2,
      config: { gateway: { drainSeconds, limits: { requestsPerUser: 1000, socketsPerUser: 1000 } } },
    })
    trial.context.onTestFinished(() => site.stop())
    await site.app('rollout', echo)
    const cookie = await site.login('ada')
    const traffic = new Traffic(site, cookie)
    for (let client = 0; client < clients; client++) traffic.run(client % 2 === 0)
    for (const [index, gateway] of site.gateways.slice(0, rolled).entries()) {
      const open = await Promise.all(Array.from({ length: sockets }, () => site.socket('rollout', cookie, index)))
      trial.injected()
      traffic.leave(index)
      const { ended } = gateway
      gateway.kill('SIGTERM')
      const closes = Promise.all(open.map(wire => wire.over()))
      const how = await ended
      await closes
      if (how !== 0) trial.violation(`gateway ${index + 1} ended with ${how}`)
      const without = open.filter(({ text: got }) => !/\x88[^\x00]\x03\xf4/.test(got)).length
      if (without > 0) trial.violation(`${without} WebSockets ended without 1012`)
      trial.landed()
      if (index === rolled - 1) break
      await gateway.ready()
      traffic.enter(index)
    }
    await traffic.stop()
    trial.figure('requests', traffic.answered)
    if (traffic.answered < clients) trial.violation('there was no traffic')
    for (const words of traffic.lost.slice(0, 5)) trial.violation(`a request was lost: ${words}`)
  },
  { concurrent: true },
)

/** Balanced as an ingress does it: new connections go to ready gateways, and kept ones are used on. */
class Traffic {
  answered = 0
  readonly lost: string[] = []
  readonly #site: GatewaySite
  readonly #cookie: string
  readonly #in: Set<number>
  readonly #running: Promise<void>[] = []
  #isOver = false

  constructor(site: GatewaySite, cookie: string) {
    this.#site = site
    this.#cookie = cookie
    this.#in = new Set(site.gateways.keys())
  }

  run(keepsAlive: boolean): void {
    this.#running.push(this.#loop(keepsAlive))
  }

  /** Balancers learn a moment later. */
  leave(gateway: number): void {
    systemClock.after(200, () => this.#in.delete(gateway))
  }

  enter(gateway: number): void {
    this.#in.add(gateway)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }

  async #loop(keepAlive: boolean): Promise<void> {
    const agents = this.#site.gateways.map(() => new Agent({ keepAlive, maxSockets: 1 }))
    for (let turn = 0; !this.#isOver; turn++) {
      const open = [...this.#in]
      const gateway = open[turn % open.length]!
      await this.#ask(gateway, agents[gateway]!, turn).catch(error => {
        this.lost.push(`at gateway ${gateway + 1}, ${keepAlive ? 'kept' : 'new'}: ${error.code ?? error.message}`)
      })
      await systemClock.sleep(5)
    }
    for (const agent of agents) agent.destroy()
  }

  async #ask(gateway: number, agent: Agent, turn: number): Promise<void> {
    const { port } = this.#site.gateways[gateway]!
    const method = turn % 3 === 0 ? 'POST' : 'GET'
    const headers = { Host: host, Cookie: this.#cookie, 'Content-Type': 'text/plain' }
    const asked = request({ port, host: '127.0.0.1', agent, method, path: '/console/apps/rollout/', headers })
    asked.end(method === 'POST' ? 'body' : undefined)
    const [answer] = await once(asked, 'response')
    await text(answer)
    if (answer.statusCode !== 200) throw new Error(String(answer.statusCode))
    this.answered += 1
  }
}
