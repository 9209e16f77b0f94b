/**
 * The world of toys: a server in the test's process that keeps homes and things, and a journal of every write. For toys it is
 * what the cluster and its audit log are for labs. It fences: a write with a lower epoch than it has heard is refused.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Home } from './context.ts'

/** One write, as the world answered it. */
export interface Written {
  readonly method: string
  readonly what: 'home' | 'thing'
  readonly name: string
  readonly code: number
  readonly replica: string
  readonly op: number
  readonly claim: number
  readonly epoch: number
  readonly receivedAtMs: number
  readonly completedAtMs: number
}

interface StoredHome {
  readonly uid: string
  readonly op: number
  readonly broken: boolean
  terminating: boolean
  thing?: { readonly uid: string; readonly op: number; readonly madeMs: number }
}

/** Times until a thing is ready, and until a home is gone. */
const delays = { readyMs: 150, goneMs: 100 }

export class ToyWorld {
  readonly journal: Written[] = []
  readonly #server: Server
  readonly #homes = new Map<string, StoredHome>()
  readonly #epochs = new Map<string, number>()
  /** The addresses of replicas' doors, by the replica. */
  readonly doors = new Map<string, string>()
  readonly #times: typeof delays

  private constructor(times: typeof delays) {
    this.#times = times
    this.#server = createServer((request, response) => void this.#serve(request, response))
    // A replica that was stopped must find its connections open: its late writes are to arrive.
    this.#server.keepAliveTimeout = 120_000
  }

  static async start(times = delays): Promise<ToyWorld> {
    const world = new ToyWorld(times)
    await new Promise<void>(resolve => world.#server.listen(0, '127.0.0.1', resolve))
    return world
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Names of all homes. */
  get names(): readonly string[] {
    return [...this.#homes.keys()]
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  home(name: string): Home | undefined {
    const home = this.#homes.get(name)
    if (!home) return undefined
    const { uid, op, terminating, thing, broken } = home
    const isReady = thing && performance.now() - thing.madeMs >= this.#times.readyMs
    const state = !isReady ? 'made' : broken ? 'broken' : 'ready'
    return { uid, op, terminating, ...(thing && { thing: { uid: thing.uid, op: thing.op, state } }) }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const receivedAtMs = Date.now()
    const { method = '' } = request
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://toys')
    const [, first, name = '', part] = pathname.split('/')
    if (first === 'doors') {
      this.doors.set(name, await textOf(request))
      response.writeHead(204).end()
      return
    }
    const body = method === 'POST' ? JSON.parse(await textOf(request)) : {}
    const what = part === 'thing' ? 'thing' : 'home'
    const epoch = Number(request.headers['x-epoch'])
    const code =
      method === 'GET' ? 200 : this.#write(method, what, name, epoch, { ...body, uid: searchParams.get('uid') })
    if (method !== 'GET') {
      const [, replica = '', op, claim] = /^(\S*) op=(\d+) claim=(\d+)/.exec(request.headers['user-agent'] ?? '') ?? []
      const times = { receivedAtMs, completedAtMs: Date.now() }
      this.journal.push({ method, what, name, code, replica, op: Number(op), claim: Number(claim), epoch, ...times })
    }
    const home = this.home(name)
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(home ? { home } : {}))
  }

  #write(method: string, what: Written['what'], name: string, epoch: number, wish: RequestBody): number {
    if (epoch < (this.#epochs.get(name) ?? 0)) return 412
    this.#epochs.set(name, epoch)
    const home = this.#homes.get(name)
    if (method === 'DELETE') return this.#remove(name, home, wish)
    if (what === 'thing') {
      if (!home || home.uid !== wish.homeUid || home.terminating) return 410
      if (home.thing) return 409
      home.thing = { uid: randomUUID(), op: wish.op, madeMs: performance.now() }
      return 201
    }
    if (home) return 409
    this.#homes.set(name, { uid: randomUUID(), op: wish.op, broken: wish.broken === true, terminating: false })
    return 201
  }

  #remove(name: string, home: StoredHome | undefined, { uid }: RequestBody): number {
    if (!home) return 404
    if (home.uid !== uid) return 409
    if (!home.terminating) setTimeout(() => this.#homes.delete(name), this.#times.goneMs)
    home.terminating = true
    return 200
  }
}

interface RequestBody {
  readonly op: number
  readonly homeUid?: string
  readonly broken?: boolean
  readonly uid: string | null
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
