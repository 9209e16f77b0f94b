/** The clients of the bench, a process of its own: raw connections that send on request, and count. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { percentile, round } from '../measure/statistics.ts'
import { answerQuestions } from '../measure/worker.ts'

export interface Target {
  readonly port: number
  /** Before what a request asks for. */
  readonly prefix: string
  /** Lines of each head, with `Host`. */
  readonly lines: readonly string[]
  /** Further apps behind the same port. Requests go to all of them in turn. */
  readonly others?: readonly Pick<Target, 'prefix' | 'lines'>[]
}

export type GatewayQuestion =
  /** As many requests as each connection can do one after another; with `perSecond` at this rate. */
  | { readonly do: 'requests'; readonly path: string; readonly perSecond?: number; readonly connections: number }
  /** Frames that come back, one after another on each connection. */
  | { readonly do: 'echo'; readonly connections: number }

export interface Asked {
  readonly target: Target
  readonly seconds: number
  readonly question: GatewayQuestion
}

export interface Counted {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Moves bytes in one request. */
export interface Moving {
  readonly target: Target
  readonly move: 'up' | 'down'
  readonly bytes: number
}

/** Opens WebSockets and keeps them, or closes all. */
export interface Keeping {
  readonly target: Target
  readonly keep: number
}

const block = Buffer.alloc(262_144, 'x')
const opening = 100
const framePayload = 1024
/** One frame of a client, with a mask of zeros. */
const frame = Buffer.concat([Buffer.from([0x82, 0xfe, framePayload >> 8, 0, 0, 0, 0, 0]), Buffer.alloc(framePayload)])
const kept: Socket[] = []

answerQuestions(async (asked: Asked | Moving | Keeping): Promise<Counted | number> => {
  if ('move' in asked) return moved(asked)
  if ('keep' in asked) return keep(asked)
  const { target, seconds, question } = asked
  return question.do === 'echo' ? echo(target, seconds, question) : requests(target, seconds, question)
})

const headFor = (
  { prefix, lines }: Pick<Target, 'prefix' | 'lines'>,
  method: string,
  path: string,
  more: readonly string[] = [],
) => Buffer.from([`${method} ${prefix}${path} HTTP/1.1`, ...lines, ...more, '', ''].join('\r\n'), 'latin1')

/** A connection on which one request is answered at a time. */
class Lane {
  readonly #socket: Socket
  #pending: Buffer = Buffer.alloc(0)
  /** Bytes of the body that are still to come; undefined: the head. */
  #missing: number | undefined
  #answered = () => {}

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', bytes => this.#read(bytes))
  }

  static async open({ port }: Target): Promise<Lane> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    socket.on('close', () => {
      if (!isOver) fail(new Error('a connection was closed'))
    })
    return new Lane(socket)
  }

  ask(head: Buffer, answered: () => void): void {
    this.#answered = answered
    this.#socket.write(head)
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(bytes: Buffer): void {
    if (this.#missing === undefined) {
      this.#pending = this.#pending.length > 0 ? Buffer.concat([this.#pending, bytes]) : bytes
      const at = this.#pending.indexOf('\r\n\r\n')
      if (at < 0) return
      const head = this.#pending.toString('latin1', 0, at)
      if (!head.startsWith('HTTP/1.1 200')) {
        fail(new Error(`answered ${head.split('\r\n')[0]}`))
        return
      }
      this.#missing = Number(/^content-length: *(\d+)/im.exec(head)![1]) - (this.#pending.length - at - 4)
      this.#pending = Buffer.alloc(0)
    } else this.#missing -= bytes.length
    if (this.#missing > 0) return
    this.#missing = undefined
    this.#answered()
  }
}

let isOver = true
let fail: (error: Error) => void = () => {}

/** Runs for some seconds. Rejects when a connection fails meanwhile. */
async function during(seconds: number): Promise<void> {
  isOver = false
  await new Promise<void>((resolve, reject) => {
    fail = reject
    setTimeout(resolve, seconds * 1000)
  }).finally(() => {
    isOver = true
  })
}

type Requests = Extract<GatewayQuestion, { do: 'requests' }>

async function requests(target: Target, seconds: number, { path, perSecond, connections }: Requests): Promise<Counted> {
  const lanes: Lane[] = []
  for (let i = 0; i < connections; i++) lanes.push(await Lane.open(target))
  const heads = headsOf([target, ...(target.others ?? [])].map(app => headFor(app, 'GET', path)))
  const times: number[] = []
  const begunMs = performance.now()
  const over = during(seconds)
  if (perSecond === undefined) for (const lane of lanes) repeat(lane, heads, times)
  else atRate(lanes, heads, times, perSecond)
  await over
  const tookSeconds = (performance.now() - begunMs) / 1000
  for (const lane of lanes) lane.close()
  return countedOf(times, tookSeconds)
}

/** Each of them in turn. */
type Heads = () => Buffer

function headsOf(all: readonly Buffer[]): Heads {
  let next = 0
  return () => all[next++ % all.length]!
}

function repeat(lane: Lane, heads: Heads, times: number[]): void {
  const sentMs = performance.now()
  lane.ask(heads(), () => {
    times.push(performance.now() - sentMs)
    if (!isOver) repeat(lane, heads, times)
  })
}

/** Sends each request at its time, or on the next free connection. The time counts from when it was due. */
function atRate(lanes: readonly Lane[], heads: Heads, times: number[], perSecond: number): void {
  const free = [...lanes]
  const begunMs = performance.now()
  let sent = 0
  const send = () => {
    const nowMs = performance.now()
    while (free.length > 0 && begunMs + (1000 * sent) / perSecond <= nowMs) {
      const dueMs = begunMs + (1000 * sent++) / perSecond
      const lane = free.pop()!
      lane.ask(heads(), () => {
        times.push(performance.now() - dueMs)
        free.push(lane)
      })
    }
    if (!isOver) setImmediate(send)
  }
  send()
}

async function opened(target: Target): Promise<Socket> {
  const socket = connect({ port: target.port, host: '127.0.0.1', noDelay: true })
  const upgrade = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version: 13',
  ]
  socket.write(headFor(target, 'GET', '/echo', upgrade))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  if (!answer.toString('latin1').startsWith('HTTP/1.1 101')) throw new Error(`answered ${answer.toString('latin1')}`)
  return socket
}

async function echo(target: Target, seconds: number, { connections }: { connections: number }): Promise<Counted> {
  const sockets: Socket[] = []
  for (let i = 0; i < connections; i++) sockets.push(await opened(target))
  const times: number[] = []
  const begunMs = performance.now()
  const over = during(seconds)
  for (const socket of sockets) bounce(socket, times)
  await over
  const tookSeconds = (performance.now() - begunMs) / 1000
  for (const socket of sockets) socket.destroy()
  return countedOf(times, tookSeconds)
}

function bounce(socket: Socket, times: number[]): void {
  let sentMs = performance.now()
  let missing = frame.length
  socket.on('data', bytes => {
    missing -= bytes.length
    if (missing > 0) return
    times.push(performance.now() - sentMs)
    missing = frame.length
    sentMs = performance.now()
    if (!isOver) socket.write(frame)
  })
  socket.write(frame)
}

const countedOf = (times: readonly number[], seconds: number): Counted => ({
  perSecond: Math.round(times.length / seconds),
  p50Ms: round(percentile(times, 0.5), 2),
  p99Ms: round(percentile(times, 0.99), 2),
})

/** Resolves with MB/s. */
async function moved({ target, move, bytes }: Moving): Promise<number> {
  const socket = connect({ port: target.port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  const begunMs = performance.now()
  if (move === 'down') {
    socket.write(headFor(target, 'GET', `/${bytes}`))
    let got = 0
    socket.on('data', chunk => {
      got += chunk.length
      if (got >= bytes) socket.destroy()
    })
    await once(socket, 'close')
    if (got < bytes) throw new Error(`${got} of ${bytes} bytes came`)
  } else {
    socket.write(headFor(target, 'POST', '/upload', [`Content-Length: ${bytes}`]))
    const answered = once(socket, 'data') as Promise<[Buffer]>
    for (let left = bytes; left > 0; left -= block.length) {
      if (!socket.write(left < block.length ? block.subarray(0, left) : block)) await once(socket, 'drain')
    }
    const [answer] = await answered
    if (!answer.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(answer.toString('latin1'))
    socket.destroy()
  }
  return Math.round(bytes / 1000 / (performance.now() - begunMs))
}

/** Resolves with how many are open. */
async function keep({ target, keep: wanted }: Keeping): Promise<number> {
  if (wanted === 0) for (const socket of kept.splice(0)) socket.destroy()
  while (kept.length < wanted) {
    const count = Math.min(opening, wanted - kept.length)
    kept.push(...(await Promise.all(Array.from({ length: count }, () => opened(target)))))
  }
  return kept.length
}
