/** One gateway as a process on a Redis of its own, before an app that somebody is logged in to: for benches and commands. */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { stringify } from 'yaml'
import { freePort } from '../../../dev/process/ports.ts'
import { type Redis, startRedis } from '../../../dev/redis/redis.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { formatTokens } from '../../../src/identity/tokens.ts'
import { MemberStore } from '../../../src/store/apps/members.ts'
import { RouteStore } from '../../../src/store/apps/routes.ts'
import { Connection } from '../../../src/store/connection.ts'
import { Keys } from '../../../src/store/keys.ts'
import { gatewayAclLine } from '../../../src/store/rights.ts'
import { otherAddress } from './other-apps.ts'
import { exampleRoute } from './routes.ts'

/** The app of which everybody in these processes speaks. */
export const appId = 'bench'

export interface OpenGateway {
  readonly replica: Replica
  readonly redis: Redis
  /** Lines of a head that lead to the app: `Host`, `Origin`, and the cookies of a login and a session. */
  readonly lines: readonly string[]
  /** Of each further app. */
  readonly others: readonly OtherApp[]
  stop(): Promise<void>
}

export interface OtherApp {
  readonly id: string
  readonly lines: readonly string[]
}

export interface GatewayOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  /** Of the app. */
  readonly port: number
  readonly config?: ConfigInput['gateway']
  /** More options of Node. */
  readonly nodeArgs?: readonly string[]
  /** How many further apps there are, at the same port of `otherAddress`. Default: none. */
  readonly others?: number
}

const otherId = (number: number) => `${appId}-${number}`

const people = {
  username: 'ada',
  token: 'ada-token',
  scopes: ['exec:notebook'],
  groups: [{ name: 'physics', id: 1000 }],
}

export async function startGateway({
  stateDir,
  port: appPort,
  config = {},
  nodeArgs = [],
  others: count = 0,
}: GatewayOptions): Promise<OpenGateway> {
  const keyPrefix = `gateway-${randomBytes(4).toString('hex')}`
  const redis = await startRedis({ stateDir, keyPrefix })
  await addGatewayUser(redis, keyPrefix)
  const numbers = Array.from({ length: count }, (_, i) => i + 1)
  await writeTables(redis, keyPrefix, appPort, numbers)
  const { replica, origin } = await startReplica({ stateDir, redis, keyPrefix, config, nodeArgs })
  await replica.ready()
  const login = await logIn(origin)
  const linesFor = async (id: string) => {
    const cookie = `Cookie: ${login}; ${await enter(origin, login, id)}`
    return [`Host: ${new URL(origin).host}`, `Origin: ${origin}`, cookie]
  }
  const lines = await linesFor(appId)
  const others: OtherApp[] = []
  for (const id of numbers.map(otherId)) others.push({ id, lines: await linesFor(id) })
  const stop = async () => {
    await replica.stop(0)
    await redis.stop()
  }
  return { replica, redis, lines, others, stop }
}

export interface GatewayReplicaOptions extends Pick<GatewayOptions, 'stateDir' | 'config' | 'nodeArgs'> {
  /** Has the user `gateway` (`addGatewayUser`). */
  readonly redis: Pick<Redis, 'url'>
  readonly keyPrefix?: string
  /** Of the process and its files. Default: `gateway` */
  readonly name?: string
}

/** Starts a process whose public address is its own, at a Redis that others fill. It is not ready yet. */
export async function startReplica(options: GatewayReplicaOptions): Promise<{ replica: Replica; origin: string }> {
  const { stateDir, redis, keyPrefix, config, nodeArgs = [], name = 'gateway' } = options
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const [configFile, tokens] = [join(stateDir, `${name}.yaml`), `${name}-tokens.yaml`]
  await writeFile(join(stateDir, tokens), formatTokens({ tokens: [people] }))
  await writeFile(
    configFile,
    stringify({
      ...{ run: ['gateway'], api: { host: '127.0.0.1' } },
      redis: { url: redis.url.replace('redis://', 'redis://gateway:gateway@'), ...(keyPrefix && { keyPrefix }) },
      identity: { provider: 'static', static: { file: tokens } },
      gateway: { publicUrl: origin, ...config },
    } satisfies ConfigInput),
  )
  const replica = await Replica.start({ stateDir, configFile, name, port, restart: false, nodeArgs })
  return { replica, origin }
}

/** Makes the user `gateway` of Redis, with the rights of a gateway. */
export async function addGatewayUser({ url }: Pick<Redis, 'url'>, keyPrefix: string): Promise<void> {
  const admin = new Client(url)
  const line = gatewayAclLine({ name: 'gateway', password: '>gateway', keyPrefix })
  await admin.call('ACL', 'SETUSER', ...line.split(' ').slice(1))
  admin.disconnect()
}

async function writeTables(
  { programUrl }: Redis,
  keyPrefix: string,
  port: number,
  others: readonly number[],
): Promise<void> {
  const config = configSchema.shape.redis.parse({ url: programUrl, keyPrefix })
  const connection = new Connection({ config, clock: systemClock })
  connection.open()
  const keys = new Keys(keyPrefix)
  const routes = new RouteStore(connection, keys)
  const apps = [{ id: appId, ip: '127.0.0.1' }, ...others.map(each => ({ id: otherId(each), ip: otherAddress(each) }))]
  for (const { id, ip } of apps) {
    await routes.put(exampleRoute({ id, uid: `u-${id}`, address: { ip, port }, host: `app-${id}.hub:${port}` }))
  }
  await routes.complete()
  await new MemberStore(connection, keys).complete()
  connection.close()
}

/** Resolves with the cookie of a login. */
function logIn(origin: string): Promise<string> {
  const type = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: origin }
  return cookieOf(`${origin}/console/login`, type, 'token=ada-token')
}

/** Resolves with the cookie of a session of an app. */
const enter = (origin: string, login: string, id: string): Promise<string> =>
  cookieOf(`${origin}/console/apps/${id}/`, { Cookie: login })

function cookieOf(url: string, headers: Record<string, string>, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent: false }, answer => {
      answer.resume()
      const pair = answer.headers['set-cookie']?.[0]?.split(';')[0]
      if (pair !== undefined) resolve(pair)
      else reject(new Error(`${url}: ${answer.statusCode} without a cookie`))
    })
    asking.on('error', reject)
    asking.end(body)
  })
}
