/** Gateways as processes on a Redis of their own, before apps of the test. The store writes their routes: there is no cluster. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { stringify } from 'yaml'
import { waitUntil } from '../../../dev/process/api-client.ts'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import type { AppRoute } from '../../../src/base/app-route.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { formatTokens } from '../../../src/identity/tokens.ts'
import { IntentStore } from '../../../src/store/apps/intents.ts'
import { MemberStore } from '../../../src/store/apps/members.ts'
import { RevocationStore } from '../../../src/store/apps/revocations.ts'
import { RouteStore } from '../../../src/store/apps/routes.ts'
import { Connection } from '../../../src/store/connection.ts'
import { Keys } from '../../../src/store/keys.ts'
import { gatewayAclLine } from '../../../src/store/rights.ts'
import { members as exampleMembers, route as exampleRoute } from '../apps/routes.ts'
import { programWithout } from '../program/controlled.ts'
import { controlVariable } from '../program/controls.ts'
import { startTestRedis } from '../store/redis.ts'
import { testBed } from '../testbed.ts'
import { RawApp } from './raw-app.ts'
import { type Script, Wire } from './wires.ts'

/** As browsers know the site. */
export const host = 'platform.example.org'
export const origin = `https://${host}`

/** People, each with the token `NAME-token`. */
const people: Readonly<Record<string, readonly string[]>> = {
  ada: ['physics'],
  grace: ['physics', 'chemistry'],
  eve: [],
}

export interface SiteOptions {
  /** Default: 1. */
  readonly gateways?: number
  readonly config?: ConfigInput
  /** Beside the configuration, by name. */
  readonly files?: Readonly<Record<string, string>>
  /** Of the gateways. */
  readonly env?: Readonly<Record<string, string>>
}

/** What somebody's browser has. */
export interface Cookies {
  readonly login: string
}

export class GatewaySite {
  readonly stateDir: string
  readonly redis: Redis
  readonly keys: Keys
  readonly connection: Connection
  /** With all rights. */
  readonly admin: Client
  readonly routes: RouteStore
  readonly members: MemberStore
  readonly revocations: RevocationStore
  readonly intents: IntentStore
  readonly gateways: Replica[] = []
  readonly #apps: RawApp[] = []
  readonly #wires: Wire[] = []
  #generation = 1

  private constructor(stateDir: string, redis: Redis, keyPrefix: string) {
    this.stateDir = stateDir
    this.redis = redis
    this.keys = new Keys(keyPrefix)
    const config = configSchema.shape.redis.parse({ url: redis.programUrl, keyPrefix })
    this.connection = new Connection({ config, clock: systemClock })
    this.connection.open()
    this.admin = new Client(redis.url).on('error', () => {})
    this.routes = new RouteStore(this.connection, this.keys)
    this.members = new MemberStore(this.connection, this.keys)
    this.intents = new IntentStore(this.connection, this.keys)
    this.revocations = new RevocationStore(this.connection, this.keys)
  }

  static async start({ gateways = 1, config = {}, files = {}, env = {} }: SiteOptions = {}): Promise<GatewaySite> {
    const keyPrefix = `gateway-${randomBytes(4).toString('hex')}`
    const stateDir = join(testBed().stateDir, 'fleets', keyPrefix)
    mkdirSync(stateDir, { recursive: true })
    const redis = await startTestRedis({ stateDir, keyPrefix })
    const site = new GatewaySite(stateDir, redis, keyPrefix)
    await site.#addUser(keyPrefix)
    await site.completed()
    for (const [name, text] of Object.entries(files)) await writeFile(join(stateDir, name), text)
    const built = await programWithout(process.env[controlVariable] ?? '')
    const program = { ...built, env: { ...built.env, ...env } }
    const configFile = await site.#configure(keyPrefix, config)
    for (let number = 1; number <= gateways; number++) {
      site.gateways.push(await Replica.start({ ...program, stateDir, configFile, name: `gateway-${number}` }))
    }
    await Promise.all(site.gateways.map(each => each.ready()))
    return site
  }

  /** The tables are whole. */
  async completed(): Promise<void> {
    await this.routes.complete()
    await this.members.complete()
  }

  /** An app with its route. */
  async app(id: string, script: Script, change: Partial<AppRoute> = {}): Promise<RawApp> {
    const app = await RawApp.start(script)
    this.#apps.push(app)
    await this.route(id, { address: app.address, ...change })
    return app
  }

  /** Writes a route. Resolves when all gateways have it. */
  async route(id: string, change: Partial<AppRoute> = {}): Promise<void> {
    this.#generation += 1
    // Another route may be written meanwhile.
    const { generation = this.#generation } = change
    const own = { id, uid: `uid-of-${id}`, displayName: id, host: `app-${id}.hub:80` }
    await this.routes.put(exampleRoute({ ...own, ...change, generation }))
    await this.#learned(`"${id}@${generation}"`)
  }

  /** Sets the members of a group, by an LNamespace. Resolves when all gateways know. */
  async group(name: string, users: readonly string[]): Promise<void> {
    this.#generation += 1
    const generation = this.#generation
    await this.members.put(name, exampleMembers(users, { generation }))
    await this.#learned(`"${name}@${generation}"`)
  }

  async #learned(words: string): Promise<void> {
    for (const index of this.gateways.keys()) {
      const hasLearned = async () => (await this.log(index)).includes(words)
      await waitUntil(hasLearned, { what: `${words} at gateway ${index + 1}`, limitMs: 60_000 })
    }
  }

  /** A raw connection to a gateway. */
  async client(gateway = 0): Promise<Wire> {
    const socket = connect({ port: this.gateways[gateway]!.port, host: '127.0.0.1', allowHalfOpen: true })
    const wire = new Wire(socket)
    this.#wires.push(wire)
    await once(socket, 'connect')
    return wire
  }

  /** Sends these bytes on a connection of its own. Resolves with all that comes until it is closed. */
  async send(bytes: string, gateway = 0): Promise<string> {
    const client = await this.client(gateway)
    client.write(bytes)
    await client.over()
    client.socket.destroy()
    return client.text
  }

  /** One request with a head of these lines. */
  ask(line: string, headers: readonly string[] = [], { body = '', gateway = 0, at = host } = {}): Promise<string> {
    const lines = [`${line} HTTP/1.1`, `Host: ${at}`, 'Connection: close', ...headers]
    if (body) lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
    return this.send(`${lines.join('\r\n')}\r\n\r\n${body}`, gateway)
  }

  /** Logs somebody in. Resolves with the cookie. */
  async login(user: string, gateway = 0): Promise<string> {
    const type = 'Content-Type: application/x-www-form-urlencoded'
    const answer = await this.ask('POST /console/login', [type, `Origin: ${origin}`], {
      body: `token=${user}-token`,
      gateway,
    })
    return cookieIn(answer, '__Host-Http-skylab-login')
  }

  /** Opens a WebSocket of an app. Resolves when it is open. */
  async socket(id: string, cookie: string, gateway = 0): Promise<Wire> {
    const client = await this.client(gateway)
    client.write(upgrade(`/console/apps/${id}/ws`, [`Cookie: ${cookie}`]))
    await client.has('\r\n\r\n')
    return client
  }

  /** Opens a WebSocket at each gateway, and makes a change. Resolves with the time in ms until all are cut. */
  async cutAfter(id: string, cookie: string, change: () => void): Promise<number> {
    const sockets = await Promise.all(this.gateways.map((_, gateway) => this.socket(id, cookie, gateway)))
    for (const socket of sockets) {
      socket.write(clientFrame('before'))
      await socket.has('before')
    }
    const beganMs = systemClock.monotonicMs()
    change()
    await Promise.all(sockets.map(socket => socket.over()))
    return systemClock.monotonicMs() - beganMs
  }

  log(gateway = 0): Promise<string> {
    return readFile(join(this.stateDir, 'log', `${this.gateways[gateway]!.name}.log`), 'utf8')
  }

  /** Of all its labels. */
  async metricSum(name: string, gateway = 0): Promise<number> {
    const text = await (await fetch(`${this.gateways[gateway]!.monitoringUrl}/metrics`)).text()
    const lines = text.split('\n').filter(each => each.startsWith(`${name}{`) || each.startsWith(`${name} `))
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }

  async stop(): Promise<void> {
    for (const { socket } of this.#wires) socket.destroy()
    await Promise.all(this.gateways.map(each => each.stop(0)))
    for (const app of this.#apps) app.stop()
    this.connection.close()
    this.admin.disconnect()
    await this.redis.stop()
  }

  async #addUser(keyPrefix: string): Promise<void> {
    const line = gatewayAclLine({ name: 'gateway', password: '>gateway', keyPrefix })
    await this.admin.call('ACL', 'SETUSER', ...line.split(' ').slice(1))
  }

  async #configure(keyPrefix: string, { gateway, ...more }: ConfigInput): Promise<string> {
    const url = new URL(this.redis.programUrl)
    url.username = 'gateway'
    url.password = 'gateway'
    const config: ConfigInput = {
      run: ['gateway'],
      logLevel: 'debug',
      api: { host: '127.0.0.1' },
      redis: { url: url.href, keyPrefix },
      identity: { provider: 'static', static: { file: 'tokens.yaml' } },
      // As LNamespaces call people.
      tenants: { rest: { usernameTemplate: '{username}' } },
      gateway: { publicUrl: origin, drainSeconds: 2, trustedProxies: ['127.0.0.0/8'], ...gateway },
      ...more,
    }
    const tokens = Object.entries(people).map(([username, groups]) => ({
      ...{ token: `${username}-token`, username, scopes: ['exec:notebook'] },
      groups: groups.map((name, index) => ({ name, id: 1000 + index })),
    }))
    await writeFile(join(this.stateDir, 'tokens.yaml'), formatTokens({ tokens }))
    const file = join(this.stateDir, 'gateway.yaml')
    await writeFile(file, stringify(config))
    return file
  }
}

/** The pair of a cookie that an answer sets. */
export function cookieIn(answer: string, name: string): string {
  const pair = new RegExp(`^set-cookie: (${name}=[^;\\r\\n]*)`, 'im').exec(answer)?.[1]
  if (pair === undefined) throw new Error(`no cookie ${name} in ${answer}`)
  return pair
}

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])

/** The head of a request for a WebSocket. */
export const upgrade = (path: string, headers: readonly string[] = [], from = origin): string =>
  `${[
    ...[`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: Upgrade', 'Upgrade: websocket'],
    ...['Sec-WebSocket-Key: k', 'Sec-WebSocket-Version: 13', `Origin: ${from}`, ...headers],
  ].join('\r\n')}\r\n\r\n`

/** A frame of a client. */
export function clientFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  return Buffer.concat([Buffer.from([0x82, 0x80 | payload.length, 0, 0, 0, 0]), payload])
}
