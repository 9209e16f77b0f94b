import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { type Answer, hang, json, ScriptedServer, status, stream } from '../../test/kit/kube/server.ts'
import { silentLog } from '../../test/kit/log.ts'
import type { KubeObject } from '../base/domain.ts'
import { RetryLater } from '../base/errors.ts'
import type { Span } from '../telemetry/tracing.ts'
import { KubeClient } from './client.ts'

let server: ScriptedServer
let clock: ManualClock
let client: KubeClient
let requests: [verb: string, code: string][]
const clients: KubeClient[] = []

function connect(maxInFlight = 8): KubeClient {
  const made = new KubeClient({
    kubernetes: { kubeconfig: server.kubeconfig(), requestTimeoutSeconds: 10, maxInFlight },
    version: '1.2.3',
    replica: 'r1',
    clock,
    log: silentLog,
    onRequest: (verb, code) => requests.push([verb, code]),
  })
  clients.push(made)
  return made
}

beforeEach(async () => {
  server = await new ScriptedServer().listen()
  clock = new ManualClock()
  requests = []
  client = connect()
})

afterEach(async () => {
  await Promise.all(clients.splice(0).map(made => made.close()))
  await server.close()
})

const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'a', name: 'p' }
const pod: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'a', uid: 'u1' } }

/** Settles later; the test awaits it after other steps. */
function watched<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** Waits for the writes of an agent, one of which is in flight. */
async function settling(agent: string): Promise<{ wait: Promise<void> }> {
  let settled = false
  const wait = client.settled(agent).then(() => {
    settled = true
  })
  await client.settled(`not ${agent}`)
  expect(settled).toBe(false)
  return { wait }
}

describe('Requester, retries:', () => {
  test.each([429, 500, 502, 503, 504])('%d is tried again', async code => {
    server.script.push(status(code, 'Busy'), json(pod))
    const read = client.get(ref)
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await read).toEqual(pod)
  })

  test('Retry-After of the header or the body is honoured', async () => {
    const details = { kind: 'Status', reason: 'ServerTimeout', details: { retryAfterSeconds: 4 } }
    server.script.push(status(429, 'TooManyRequests', 'slow', { 'Retry-After': '3' }), json(details, 500), json(pod))
    const read = client.get(ref)
    clock.advance(await clock.sleepBetween(3_100, 3_200))
    clock.advance(await clock.sleepBetween(4_200, 4_400))
    expect(await read).toEqual(pod)
  })

  test('waits grow, and end with RetryLater', async () => {
    server.fallback = status(503, 'ServiceUnavailable', 'starting')
    const read = watched(client.get(ref))
    for (const fullMs of [200, 400, 800, 1600]) clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
    await expect(read).rejects.toThrow(RetryLater)
    await expect(read).rejects.toThrow('Kubernetes does not answer for now: starting')
    expect(server.received).toHaveLength(5)
  })

  test('a long Retry-After is passed to the caller as RetryLater', async () => {
    server.script.push(status(429, 'TooManyRequests', 'later', { 'Retry-After': '60' }))
    await expect(client.get(ref)).rejects.toMatchObject({ name: 'RetryLater', afterMs: 60_000 })
  })

  test('an aborted signal ends the wait between attempts', async () => {
    server.fallback = status(503, 'ServiceUnavailable')
    const stop = new AbortController()
    const read = watched(client.get(ref, { signal: stop.signal }))
    await clock.sleepBetween(100, 200)
    stop.abort(new Error('lease lost'))
    await expect(read).rejects.toThrow('lease lost')
    expect(server.received).toHaveLength(1)
  })

  test('a closed port leads to RetryLater too', async () => {
    server.script.push(json(pod))
    await client.get(ref)
    await server.close()
    const read = watched(client.get(ref))
    for (const fullMs of [200, 400, 800, 1600]) clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
    await expect(read).rejects.toThrow(RetryLater)
  })
})

test('Requester passes the failpoints around each attempt of a write, and none for a read', async () => {
  const passed: string[] = []
  const failpoint = (place: string) => void passed.push(`${place} ${server.received.length}`)
  server.script.push(json(pod), status(503, 'ServiceUnavailable'), json(pod))
  await client.get(ref, { failpoint })
  expect(passed).toEqual([])
  const made = client.create(pod, { failpoint })
  clock.advance(await clock.sleepBetween(100, 200))
  await made
  expect(passed).toEqual(['before-send 1', 'after-send 2', 'before-send 2', 'after-send 3'])
})

test('Requester checks a request again when it leaves after a wait for a slot', async () => {
  const narrow = connect(1)
  const stop = new AbortController()
  let isLost = false
  const check = () => {
    if (isLost) stop.abort(new Error('lease lost'))
    stop.signal.throwIfAborted()
  }
  let answer = () => {}
  server.script.push((request, response) => {
    answer = () => json(pod)(request, response)
  })
  const first = narrow.create(pod)
  const second = watched(narrow.create(pod, { check, signal: stop.signal }))
  await server.until(1)
  isLost = true
  answer()
  await expect(second).rejects.toThrow('lease lost')
  expect(await first).toEqual(pod)
  expect(server.received).toHaveLength(1)
})

describe('Requester, deadline:', () => {
  test('a server that hangs is abandoned after the request time-out', async () => {
    server.script.push(hang, json(pod))
    const read = client.get(ref)
    await server.until(1)
    clock.advance(await clock.sleepBetween(10_000, 10_000))
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await read).toEqual(pod)
    expect(requests).toEqual([
      ['get', 'error'],
      ['get', '200'],
    ])
  })

  test('a server that does not finish its answer is abandoned too', async () => {
    const begin: Answer = (_request, response) => void response.writeHead(200).write('{')
    server.script.push(begin, json(pod))
    const read = client.get(ref)
    await server.until(1)
    clock.advance(await clock.sleepBetween(10_000, 10_000))
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await read).toEqual(pod)
  })

  test('a hung request returns its slot', async () => {
    const narrow = connect(1)
    server.script.push(hang, json(pod), json(pod))
    const first = narrow.get(ref)
    await server.until(1)
    const second = narrow.get(ref)
    clock.advance(await clock.sleepBetween(10_000, 10_000))
    expect(await second).toEqual(pod)
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await first).toEqual(pod)
  })
})

describe('Requester, connections:', () => {
  test('500 reads share a few, with no more in flight than allowed', async () => {
    let inFlight = 0
    let most = 0
    server.fallback = (request, response) => {
      inFlight += 1
      most = Math.max(most, inFlight)
      setImmediate(() => {
        inFlight -= 1
        json(pod)(request, response)
      })
    }
    await Promise.all(Array.from({ length: 500 }, () => client.get(ref)))
    expect(most).toBeLessThanOrEqual(8)
    expect(server.connections).toBeLessThanOrEqual(8)
  })

  test('an open watch takes none of them', async () => {
    const narrow = connect(1)
    const stop = new AbortController()
    const open = stream(() => {})
    server.script.push(open, open, json(pod))
    const options = { resourceVersion: '1', timeoutSeconds: 60, signal: stop.signal }
    const watches = [await narrow.watch('v1', 'Pod', options), await narrow.watch('v1', 'Pod', options)]
    expect(await narrow.get(ref)).toEqual(pod)
    stop.abort(new Error('enough'))
    for (const watch of watches) await expect(watch.read(() => {})).rejects.toThrow('enough')
  })

  test('long-lived signals gather no listeners', async () => {
    const stop = new AbortController()
    let listeners = 0
    const { addEventListener, removeEventListener } = stop.signal
    stop.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1
      addEventListener.apply(stop.signal, args)
    }
    stop.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1
      removeEventListener.apply(stop.signal, args)
    }
    server.fallback = json(pod)
    await client.get(ref, { signal: stop.signal })
    await client.create(pod, { signal: stop.signal })
    expect(listeners).toBe(0)
  })
})

describe('Requester, when the signal is aborted,', () => {
  test('cuts a read off', async () => {
    let cut: () => void = () => {}
    const closed = new Promise<void>(resolve => {
      cut = resolve
    })
    server.script.push((_request, response) => void response.on('close', () => cut()))
    const stop = new AbortController()
    const read = watched(client.get(ref, { signal: stop.signal }))
    await server.until(1)
    stop.abort(new Error('lease lost'))
    await expect(read).rejects.toThrow('lease lost')
    await closed
  })

  test('rejects at once for a write, which continues to its answer', async () => {
    const stop = new AbortController()
    let answer: () => void = () => {}
    server.script.push((request, response) => {
      answer = () => json(pod, 201)(request, response)
    })
    const written = watched(client.create(pod, { signal: stop.signal, agent: 'op=7' }))
    await server.until(1)
    stop.abort(new Error('lease lost'))
    await expect(written).rejects.toThrow('lease lost')

    const { wait } = await settling('op=7')
    expect(requests).toEqual([])
    answer()
    await wait
    expect(requests).toEqual([['create', '201']])
  })

  test('settles a write with the last byte of its answer', async () => {
    const stop = new AbortController()
    let finish: () => void = () => {}
    server.script.push((_request, response) => {
      response.writeHead(201, { 'Content-Type': 'application/json' }).write('{}')
      finish = () => void response.end()
    })
    const begun = Promise.withResolvers<void>()
    const failpoint = (place: string) => place === 'after-send' && begun.resolve()
    const written = watched(
      client.create(pod, { signal: stop.signal, agent: 'op=7', failpoint: failpoint as () => void }),
    )
    await begun.promise
    stop.abort(new Error('lease lost'))
    await expect(written).rejects.toThrow('lease lost')
    const { wait } = await settling('op=7')
    expect(client.load()).toEqual({ inFlight: 1, waiting: 0 })
    finish()
    await wait
    expect(client.load()).toEqual({ inFlight: 0, waiting: 0 })
  })

  test('settles an unanswered write by its deadline', async () => {
    const stop = new AbortController()
    server.script.push(hang)
    const written = watched(client.create(pod, { signal: stop.signal, agent: 'op=7' }))
    await server.until(1)
    stop.abort(new Error('lease lost'))
    await expect(written).rejects.toThrow('lease lost')
    clock.advance(await clock.sleepBetween(10_000, 10_000))
    await client.settled('op=7')
    expect(server.received).toHaveLength(1)
  })

  test('sends nothing if that was before the request', async () => {
    await expect(client.create(pod, { signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late')
    expect(server.received).toEqual([])
  })

  test('does not send a write that waits for a slot', async () => {
    const narrow = connect(1)
    server.script.push(hang, json(pod))
    watched(narrow.get(ref))
    await server.until(1)
    const stop = new AbortController()
    const written = watched(narrow.create(pod, { signal: stop.signal }))
    stop.abort(new Error('lease lost'))
    await expect(written).rejects.toThrow('lease lost')
    clock.advance(await clock.sleepBetween(10_000, 10_000))
    await narrow.get(ref)
    expect(server.received.map(request => request.method)).toEqual(['GET', 'GET'])
  })
})

test('Requester logs and traces each attempt with the caller’s log and span, and sends the trace to the server', async () => {
  server.script.push(status(503, 'Busy'), json(pod, 201))
  const lines: object[] = []
  const log = { ...silentLog, debug: (fields: object, message: string) => void lines.push({ ...fields, message }) }
  const spans: unknown[] = []
  const span: Span = {
    traceparent: 'of the step',
    child: (name, options) => ({
      ...{ traceparent: `of attempt ${server.received.length + 1}`, child: () => span },
      end: ended => void spans.push([name, options, ended]),
    }),
    end: () => {},
  }
  const created = client.create(pod, { log, span })
  clock.advance(await clock.sleepBetween(100, 200))
  await created
  const about = { kind: 'client', attributes: { 'http.request.method': 'POST' } }
  expect(spans).toEqual([
    ['create pods', about, { attributes: { 'http.response.status_code': 503 }, error: '503' }],
    ['create pods', about, { attributes: { 'http.response.status_code': 201 } }],
  ])
  expect(server.received.map(({ headers }) => headers.traceparent)).toEqual(['of attempt 1', 'of attempt 2'])
  expect(lines).toMatchObject([
    { message: 'kubernetes request', verb: 'create', resource: 'pods', code: '503' },
    { message: 'kubernetes request retried', failures: 1 },
    { message: 'kubernetes request', verb: 'create', resource: 'pods', code: '201' },
  ])
  expect(client.load()).toEqual({ inFlight: 0, waiting: 0 })
})

test('Requester reports requests in flight and those that wait', async () => {
  server.fallback = hang
  const one = connect(1)
  const stop = new AbortController()
  const asked = [one.get(ref, { signal: stop.signal }), one.get(ref, { signal: stop.signal })].map(watched)
  await server.until(1)
  expect(one.load()).toEqual({ inFlight: 1, waiting: 1 })
  stop.abort(new Error('enough'))
  await Promise.allSettled(asked)
  expect(one.load()).toEqual({ inFlight: 0, waiting: 0 })
})
