/**
 * A server that looks like EC2. It passes requests on to moto, and does what moto leaves out: tokens, rates, quotas,
 * capacity, late listings, lost and late answers, and machines.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { bodyOf, type Call, callOf } from './call.ts'
import { answerControl } from './control.ts'
import { Estate } from './estate.ts'
import type { Effect, Faults } from './faults.ts'
import { type Entry, Journal } from './journal.ts'
import type { Moto } from './moto.ts'
import { Tokens } from './tokens.ts'
import { errorReply, outcomeOf, type Reply, terminatedReply, textOf } from './xml.ts'

/** What boots and ends with the machines of moto. */
export interface Hosts {
  boot(machine: { id: string; address: string; userData: string }): void
  /** Resolves when nothing of it runs any more. */
  off(id: string): Promise<void>
}

export interface FrontOptions {
  readonly moto: Moto
  readonly faults: Faults
  readonly hosts?: Hosts | undefined
  readonly clock?: Clock | undefined
  /** Called before RunInstances and TerminateInstances are passed on: what does the program's record say by then? */
  readonly before?: ((call: Call) => void | Promise<void>) | undefined
}

/** What becomes of a connection without an answer. */
type Silence = 'cut' | 'late' | 'silent'
const mostBytes = 1 << 20

export class Front {
  readonly journal: Journal
  readonly estate: Estate
  readonly #options: FrontOptions
  readonly #clock: Clock
  readonly #faults: Faults
  readonly #tokens = new Tokens()
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  /** What goes on after its connection was cut. */
  readonly #late = new Set<Promise<unknown>>()
  readonly #closed = new AbortController()

  constructor(options: FrontOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#faults = options.faults
    this.journal = new Journal(this.#clock)
    this.estate = new Estate(this.#clock, options.faults)
  }

  /** @returns its URL */
  async listen(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('the cloud was closed'))
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
    await Promise.allSettled(this.#late)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await read(request)
      if (request.url?.startsWith('/_cloud/')) return answerControl(request, body, response, this.journal, this.#faults)
      const { authorization = '', 'user-agent': agent = '' } = request.headers
      const call = callOf(body, agent, authorization)
      const entry = this.journal.begin(call)
      const reply = await this.#answer(call, entry)
      this.journal.end(entry, typeof reply === 'string' ? reply : entry.outcome || outcomeOf(reply))
      if (reply === 'cut' || reply === 'late') request.socket.destroy()
      else if (reply !== 'silent') response.writeHead(reply.status, { 'content-type': 'text/xml' }).end(reply.body)
    } catch {
      // The connection is gone, or the front.
      request.socket.destroy()
    }
  }

  async #answer(call: Call, entry: Entry): Promise<Reply | Silence> {
    if (!this.estate.isInRate(call)) return errorReply('RequestLimitExceeded', 'Request limit exceeded.', 503)
    const effect = this.#faults.take(call)
    if (!effect) return this.#carryOut(call, entry)
    if ('error' in effect)
      return errorReply(effect.error, effect.message ?? 'As the test wants it.', effect.status ?? 400)
    if ('lie' in effect) {
      entry.outcome = 'lie'
      return terminatedReply(call.ids)
    }
    if ('delayMs' in effect) {
      await this.#clock.sleep(effect.delayMs, this.#closed.signal)
      return this.#carryOut(call, entry)
    }
    return this.#silently(call, entry, effect)
  }

  async #silently(
    call: Call,
    entry: Entry,
    effect: Exclude<Effect, { error: string } | { lie: true } | { delayMs: number }>,
  ): Promise<Silence> {
    if ('lateMs' in effect) {
      const late = this.#carryOut(call, entry, effect.lateMs)
      this.#late.add(late)
      late.finally(() => this.#late.delete(late)).catch(() => {})
      return 'late'
    }
    const [silence, when] = 'cut' in effect ? (['cut', effect.cut] as const) : (['silent', effect.silent] as const)
    if (when === 'after') await this.#carryOut(call, entry)
    return silence
  }

  async #carryOut(call: Call, entry: Entry, afterMs = 0): Promise<Reply> {
    const act = async () => {
      if (afterMs > 0) await this.#clock.sleep(afterMs, this.#closed.signal)
      const reply = await this.#act(call)
      entry.carriedOut = reply.status < 400
      return reply
    }
    const isCreation = call.action === 'RunInstances' || call.action === 'CreateNetworkInterface'
    const reply =
      isCreation && this.#faults.honoursTokens
        ? await this.#tokens.once(call, act, async first => this.estate.hasEnded(idIn(first) ?? ''))
        : await act()
    const made = isCreation ? idIn(reply) : undefined
    if (made !== undefined) entry.ids = [...entry.ids, made]
    return reply
  }

  async #act(call: Call): Promise<Reply> {
    switch (call.action) {
      case 'RunInstances':
        return this.#run(call)
      case 'TerminateInstances':
        return this.#terminate(call)
      case 'DescribeInstances':
        return this.#describe(call)
      default:
        return this.#pass(call)
    }
  }

  #pass(call: Call, changes?: Readonly<Record<string, string | undefined>>): Promise<Reply> {
    return this.#options.moto.pass(bodyOf(call, changes), call.authorization)
  }

  async #run(call: Call): Promise<Reply> {
    const place = this.estate.reserve(call)
    if ('status' in place) return place
    try {
      await this.#options.before?.(call)
      const reply = await this.#pass(call)
      const id = idIn(reply)
      if (id === undefined) return reply
      this.estate.add(id, call)
      const userData = Buffer.from(call.parameters.get('UserData') ?? '', 'base64').toString()
      const address = textOf(reply.body.slice(reply.body.indexOf('<instanceId>')), 'privateIpAddress') ?? ''
      this.#options.hosts?.boot({ id, address, userData })
      return reply
    } finally {
      place.release()
    }
  }

  async #terminate(call: Call): Promise<Reply> {
    await this.#options.before?.(call)
    // "Terminated" is a proof: nothing may run any more when a listing says it.
    await Promise.all(call.ids.map(id => this.#options.hosts?.off(id)))
    const reply = await this.#pass(call)
    if (reply.status < 400) this.estate.end(call.ids)
    return reply
  }

  async #describe(call: Call): Promise<Reply> {
    const byId = call.parameters.has('InstanceId.1')
    const most = Math.min(Number(call.parameters.get('MaxResults') ?? 1_000), this.#faults.pageSize)
    const changes = { ...this.#byToken(call), ...(!byId && { MaxResults: String(most) }) }
    return this.estate.asSeen(await this.#pass(call, changes), byId)
  }

  /** moto has no filter by token. */
  #byToken({ parameters }: Call): Record<string, string> {
    for (const [name, value] of parameters) {
      if (value !== 'client-token') continue
      const values = name.replace('.Name', '.Value.1')
      const made = this.journal
        .of('RunInstances')
        .find(entry => entry.token === parameters.get(values) && entry.carriedOut)
      return { [name]: 'instance-id', [values]: made?.ids[0] ?? 'i-none' }
    }
    return {}
  }
}

/** Of the machine or the interface that a reply says was made. */
const idIn = ({ status, body }: Reply): string | undefined =>
  status < 400 ? (textOf(body, 'instanceId') ?? textOf(body, 'networkInterfaceId')) : undefined

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Error('the request is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
