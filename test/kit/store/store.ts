/** The store as replicas use it, on a Redis of the test file. Every test has its own keys. */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import type { Redis, RedisOptions } from '../../../dev/redis/redis.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { LabView } from '../../../src/base/domain.ts'
import { Listeners } from '../../../src/base/listeners.ts'
import { configSchema } from '../../../src/config/schema.ts'
import type { Accepted, Deletion, LabCreation } from '../../../src/store/acceptance.ts'
import type { Claim } from '../../../src/store/claims.ts'
import { CompareStore, type Mark } from '../../../src/store/compares.ts'
import { Connection } from '../../../src/store/connection.ts'
import { Keys } from '../../../src/store/keys.ts'
import { LabStore } from '../../../src/store/labs.ts'
import { OwnerStore, type Ownership } from '../../../src/store/owners.ts'
import { type LabFields, type LabRecord, labForm, type NewEvent } from '../../../src/store/records.ts'
import type { SealingKeys } from '../../../src/store/sealing.ts'
import { TaskStore } from '../../../src/store/tasks.ts'
import { testBed } from '../testbed.ts'
import { startTestRedis } from './redis.ts'

export const ttlMs = 3000
const patientMs = 10_000
export const tombstoneMs = 600_000
/** How long a compare's findings are reserved, by this replica's clock and not by Redis'. */
export const holdMs = 3_600_000
/** Streams of ended operations stay beside a newer one for this long. */
export const eventsMs = 1_800_000
export const sealing: SealingKeys = { ids: 'first second', keepMs: 60_000, idleMs: 20_000 }
export const hourUs = 3_600_000_000

/** Microseconds by this process' clock. Ops come from Redis' own clock. */
export const nowUs = () => Date.now() * 1000

export function view(username: string): LabView {
  const resources = { cpu: 1, memory: 2 ** 30 }
  return {
    username,
    options: { size: 'small' },
    env: { A: 'b' },
    uid: 1,
    gid: 2,
    groups: [],
    quotas: { limits: resources, requests: resources },
    internalUrl: `http://nb-${username}`,
  }
}

export const creation = (user: string, more: Partial<LabCreation> = {}): LabCreation => ({
  name: user,
  nonce: randomUUID(),
  timeoutMs: 60_000,
  sealPlan: () => 'sealed',
  view: view(user),
  events: [['info', 'begun']],
  ...more,
})

export const deletion = (user: string, more: Partial<Deletion> = {}): Deletion => ({
  name: user,
  nonce: randomUUID(),
  timeoutMs: 60_000,
  events: [['info', 'deletion begun']],
  superseded: [['failed', 'superseded']],
  ...more,
})

/** A replica's access to the store, and more for tests. */
export class Store {
  readonly server: Redis
  readonly prefix: string
  readonly connection: Connection
  readonly keys: Keys
  readonly labs: LabStore
  readonly owners: OwnerStore<LabRecord, LabFields>
  readonly tasks: TaskStore
  /** Notified when an answer says that the data must first be compared. */
  readonly comparing = new Listeners()
  readonly compares: CompareStore
  /** A connection beside the store's own, for inspecting and breaking. */
  readonly redis: Client

  private constructor(server: Redis, prefix: string, url: string, sealing: SealingKeys) {
    this.server = server
    this.prefix = prefix
    // Where nothing stands before Redis, a test is not about an answer that is late: this machine may be busy.
    const timeout = url === server.programUrl ? { commandTimeoutMs: patientMs } : {}
    const config = configSchema.shape.redis.parse({ url, keyPrefix: prefix, ...timeout })
    this.connection = new Connection({ config, clock: systemClock })
    this.keys = new Keys(prefix)
    const { connection, keys } = this
    const retention = { tombstoneMs, idempotencyMs: 600_000, eventsMs }
    this.labs = new LabStore({ connection, keys, retention, sealing, onComparing: () => this.comparing.notify() })
    this.owners = new OwnerStore({
      connection,
      keys,
      family: keys,
      form: labForm,
      clock: systemClock,
      sealing,
      tombstoneMs,
      holdMs,
    })
    this.tasks = new TaskStore(connection)
    this.compares = new CompareStore(this.connection, this.keys)
    this.redis = new Client(server.url).on('error', () => {})
  }

  /** Opens it, connected. `url`: the address for the store's own connections, when not the server itself. */
  static async open(
    server: Redis,
    prefix = `t${randomBytes(6).toString('hex')}`,
    url = server.programUrl,
    keys: SealingKeys = sealing,
  ): Promise<Store> {
    const store = new Store(server, prefix, url, keys)
    store.connection.open()
    await store.connected()
    return store
  }

  async connected(): Promise<void> {
    const { commands } = this.connection
    if (commands.status !== 'ready') await new Promise(resolve => commands.once('ready', resolve))
  }

  close(): void {
    this.connection.close()
    this.redis.disconnect()
  }

  /** Runs a whole compare that finds nothing to settle. */
  async compare(highestOp = 0, holdMs = 1): Promise<Mark> {
    const mark = await this.compares.begin(randomUUID(), holdMs)
    if (!(await this.compares.end(mark, highestOp))) throw new Error('the compare was overtaken')
    return mark
  }

  /** Accepts a creation; returns its op. */
  async create(user: string, more: Partial<LabCreation> = {}): Promise<number> {
    const accepted = await this.labs.acceptCreate(creation(user, more))
    if (accepted.answer !== 'accepted') throw new Error(`the creation was not accepted: ${accepted.answer}`)
    return accepted.op
  }

  async delete(user: string, more: Partial<Deletion> = {}): Promise<Accepted | null> {
    return this.labs.acceptDelete(deletion(user, more))
  }

  /** Takes the user's lease and claims the operation, as an engine does. */
  async own(user: string, token = `token-${randomUUID()}`): Promise<{ claim: Claim<LabRecord>; by: Ownership }> {
    await this.hold(user, token)
    const claim = await this.owners.claim(user, token, ttlMs)
    if (!claim) throw new Error(`nothing of ${user}'s to own`)
    return { claim, by: { name: user, op: claim.record.op, token } }
  }

  /** Takes the lease without a claim. */
  async hold(user: string, token: string, forMs = ttlMs): Promise<void> {
    if (!(await this.redis.set(this.keys.lease(user), token, 'PX', forMs, 'NX'))) throw new Error('the lease is held')
  }

  /** A running lab; returns its op. */
  async run(user: string, podUid = 'pod-uid'): Promise<number> {
    const op = await this.create(user)
    const { by } = await this.own(user)
    const fields = { podUid, namespaceUid: 'namespace-uid', podPresent: true }
    await this.owners.finish(by, 1, [['complete', 'up']], 'running', fields)
    return op
  }

  /** Events of an operation as [seq, type, data]. */
  async eventsOf(user: string, op?: number): Promise<[number, string, string][]> {
    const read = await this.labs.events(user, op, 0)
    return read.found ? read.events.map(({ id, event, data }) => [Number(id!.split('-')[1]), event, data]) : []
  }

  async record(user: string) {
    return (await this.compares.standing(user)).record
  }

  /** How often the bell rang. */
  async rings(): Promise<number> {
    const [newest] = await this.redis.xrevrange(this.keys.bell, '+', '-', 'COUNT', 1)
    return newest ? Number(newest[0].split('-')[0]) : 0
  }
}

/** Generated key prefixes. */
const ownPrefixes = '[tp]*'

/** Starts a Redis in the scope that `npm test` opened. */
export async function ownRedis(options: Omit<RedisOptions, 'stateDir'> = {}): Promise<Redis> {
  const stateDir = join(testBed().stateDir, 'stores', randomBytes(4).toString('hex'))
  mkdirSync(stateDir, { recursive: true })
  return startTestRedis({ stateDir, keyPrefix: ownPrefixes, ...options })
}

/** One Redis for a file, and for each of its tests a compared store with keys of its own. */
export function useStore(urlOf = ({ programUrl }: Redis) => programUrl): () => Store {
  let server: Redis | undefined
  let store: Store | undefined
  beforeAll(async () => {
    server = await ownRedis()
  })
  beforeEach(async () => {
    store = await Store.open(server!, undefined, urlOf(server!))
    await store.compare()
  })
  afterEach(() => store?.close())
  afterAll(async () => {
    const refused = await refusedBy(server!)
    await server?.stop()
    expect(refused).toEqual([])
  })
  return () => store!
}

/** Commands that a server denied its users, even if no client noticed. */
export async function refusedBy({ url }: Redis): Promise<string[]> {
  const redis = new Client(url)
  try {
    const entries = (await redis.acl('LOG')) as unknown[][]
    return entries.map(entry => entry.join(' '))
  } finally {
    redis.disconnect()
  }
}

export const info = (data: string): NewEvent => ['info', data]
