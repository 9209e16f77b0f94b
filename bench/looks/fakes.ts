/**
 * Pretended Jupyter servers at all addresses of the labs' pods: one process, one port. It answers by the address that was
 * asked, and knows when each was looked at. A process of its own.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { systemClock } from '../../src/base/clock.ts'
import { labPort } from '../../src/labs/env.ts'
import { percentile, round } from '../measure/statistics.ts'
import { answerQuestions } from '../measure/worker.ts'

/** How many of the addresses, by the order of their first looks; all others are idle. */
export interface Behaviours {
  /** They take a request, and say nothing. */
  readonly hung: number
  /** They reset each connection. */
  readonly refused: number
  /** A kernel works. */
  readonly busy: number
}

export type FakesQuestion =
  | { readonly do: 'listen' }
  | { readonly do: 'behave'; readonly as: Behaviours }
  /** Forgets all looks, but not the addresses. */
  | { readonly do: 'begin' }
  /** `shortestMs`: two looks at one address that are closer are a double check. */
  | { readonly do: 'end'; readonly shortestMs: number }

export interface FakesFigures {
  /** Addresses that were ever looked at. */
  readonly addresses: number
  readonly looks: number
  readonly requests: number
  readonly doubles: number
  /** Looks at those that hang, and those that were refused. */
  readonly failing: number
  /** Between two looks at one that answers, in seconds. */
  readonly gaps: { readonly p50: number; readonly p99: number; readonly most: number }
}

const dayMs = 86_400_000
const times = new Map<string, number[]>()
const ranks = new Map<string, number>()
let behaviours: Behaviours = { hung: 0, refused: 0, busy: 0 }
let requests = 0

const kernels = (state: string) =>
  JSON.stringify([
    {
      ...{ id: 'kernel-0', name: 'python3', connections: 0, execution_state: state },
      last_activity: new Date(systemClock.wallMs() - dayMs).toISOString(),
    },
  ])
const answers = { busy: kernels('busy'), idle: kernels('idle') }

function behaviourOf(address: string): keyof Behaviours | 'idle' {
  const { hung, refused, busy } = behaviours
  const rank = ranks.get(address)!
  if (rank < hung) return 'hung'
  if (rank < hung + refused) return 'refused'
  return rank < hung + refused + busy ? 'busy' : 'idle'
}

function note(address: string): void {
  if (!ranks.has(address)) ranks.set(address, ranks.size)
  const looks = times.get(address)
  if (looks) looks.push(systemClock.monotonicMs())
  else times.set(address, [systemClock.monotonicMs()])
}

function respond(request: IncomingMessage, response: ServerResponse): void {
  requests += 1
  const address = request.socket.localAddress!
  const isKernels = request.url!.includes('/api/kernels')
  if (isKernels) note(address)
  const behaviour = behaviourOf(address)
  if (behaviour === 'hung') return
  response.setHeader('Content-Type', 'application/json')
  response.end(isKernels ? answers[behaviour === 'busy' ? 'busy' : 'idle'] : '[]')
}

async function listen(): Promise<void> {
  const server = createServer(respond)
  server.on('connection', socket => {
    const address = socket.localAddress
    // A client that hung up before has no address.
    if (address === undefined || !ranks.has(address) || behaviourOf(address) !== 'refused') return
    note(address)
    socket.resetAndDestroy()
  })
  const listening = Promise.withResolvers<void>()
  server.once('error', listening.reject)
  server.listen({ port: labPort, host: '0.0.0.0', backlog: 4096 }, listening.resolve)
  await listening.promise
}

function figures(shortestMs: number): FakesFigures {
  const gaps: number[] = []
  let [looks, doubles, failing] = [0, 0, 0]
  for (const [address, at] of times) {
    looks += at.length
    const between = at.slice(1).map((ms, index) => ms - at[index]!)
    doubles += between.filter(ms => ms < shortestMs).length
    if (['hung', 'refused'].includes(behaviourOf(address))) failing += at.length
    else for (const ms of between) gaps.push(ms)
  }
  const gap = (share: number) => round(percentile(gaps, share) / 1000, 1)
  const spread = { p50: gap(0.5), p99: gap(0.99), most: gap(1) }
  return { addresses: ranks.size, looks, requests, doubles, failing, gaps: spread }
}

answerQuestions(async (question: FakesQuestion) => {
  if (question.do === 'listen') return listen()
  if (question.do === 'behave') behaviours = question.as
  if (question.do === 'end') return figures(question.shortestMs)
  times.clear()
  requests = 0
  return undefined
})
