import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { KubeObject } from '../domain.ts'
import { RetryLater } from '../errors.ts'
import { isAlreadyExists, KubeClient, KubeError } from './client.ts'
import { ManualClock } from './testing/clock.ts'
import { silentLog } from './testing/log.ts'
import { type Answer, hang, json, reset, ScriptedServer, status } from './testing/server.ts'

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
const notFound = status(404, 'NotFound', 'pods "p" not found')

/** Fails or succeeds by now; the test looks at it later. */
function watched<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

describe('create', () => {
  test('sends what it is given, fields no model knows included, and says who it is', async () => {
    const object = { ...pod, spec: { fieldOfTomorrow: [1, { deep: null }] } }
    server.script.push(json({ ...object, status: { also: 'kept' } }, 201))
    const made = await client.create(object, { agent: 'op=7 claim=2' })
    const [request] = server.received
    expect(request).toMatchObject({ method: 'POST', path: '/api/v1/namespaces/a/pods', body: JSON.stringify(object) })
    expect(request!.headers).toMatchObject({
      authorization: 'Bearer first',
      'user-agent': 'skylab/1.2.3 replica=r1 op=7 claim=2',
      'content-type': 'application/json',
    })
    expect(made.status).toEqual({ also: 'kept' })
    expect(requests).toEqual([['create', '201']])
  })

  test('a dry run says so', async () => {
    server.script.push(json(pod, 201))
    await client.create(pod, { dryRun: true })
    expect(server.received[0]!.query.get('dryRun')).toBe('All')
  })

  test('a refusal is told as the server put it, and not tried again', async () => {
    server.script.push(status(409, 'AlreadyExists', 'pods "p" already exists'))
    const error = await client.create(pod).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(KubeError)
    expect(error).toMatchObject({ status: 409, reason: 'AlreadyExists', message: 'pods "p" already exists' })
    expect(isAlreadyExists(error)).toBe(true)
    expect(server.received).toHaveLength(1)
  })

  test.each([403, 404, 409, 410, 413, 422])('%d is final', async code => {
    server.script.push(status(code, 'Whatever'))
    await expect(client.create(pod)).rejects.toMatchObject({ name: 'KubeError', status: code })
    expect(server.received).toHaveLength(1)
  })

  test('after a lost reply it is sent again', async () => {
    server.script.push(reset, status(409, 'AlreadyExists'))
    const made = watched(client.create(pod))
    clock.advance(await clock.sleepBetween(100, 200))
    await expect(made).rejects.toMatchObject({ reason: 'AlreadyExists' })
    expect(server.received.map(request => request.body)).toEqual([JSON.stringify(pod), JSON.stringify(pod)])
    expect(requests.map(([, code]) => code)).toEqual(['error', '409'])
  })

  test('an answer that is cut off is no answer', async () => {
    const half: Answer = (_request, response) => {
      response.writeHead(201, { 'Content-Length': 100 }).write('{"kind":"Pod"', () => response.destroy())
    }
    server.script.push(half, json(pod, 201))
    const made = client.create(pod)
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await made).toEqual(pod)
  })
})

describe('retries', () => {
  test.each([429, 500, 502, 503, 504])('%d is tried again', async code => {
    server.script.push(status(code, 'Busy'), json(pod))
    const read = client.get(ref)
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await read).toEqual(pod)
  })

  test('Retry-After is honoured, by header or by body', async () => {
    const details = { kind: 'Status', reason: 'ServerTimeout', details: { retryAfterSeconds: 4 } }
    server.script.push(status(429, 'TooManyRequests', 'slow', { 'Retry-After': '3' }), json(details, 500), json(pod))
    const read = client.get(ref)
    clock.advance(await clock.sleepBetween(3_100, 3_200))
    clock.advance(await clock.sleepBetween(4_200, 4_400))
    expect(await read).toEqual(pod)
  })

  test('waits grow, and end as RetryLater', async () => {
    server.fallback = status(503, 'ServiceUnavailable', 'starting')
    const read = watched(client.get(ref))
    for (const fullMs of [200, 400, 800, 1600]) clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
    await expect(read).rejects.toThrow(RetryLater)
    await expect(read).rejects.toThrow('Kubernetes does not answer for now: starting')
    expect(server.received).toHaveLength(5)
  })

  test('a wait that is long is handed on, with its length', async () => {
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

  test('nobody listening is RetryLater too', async () => {
    server.script.push(json(pod))
    await client.get(ref)
    await server.close()
    const read = watched(client.get(ref))
    for (const fullMs of [200, 400, 800, 1600]) clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
    await expect(read).rejects.toThrow(RetryLater)
  })
})

describe('deadline', () => {
  test('a server that hangs is left after the request time-out', async () => {
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

  test('so is one that begins an answer and does not end it', async () => {
    const begin: Answer = (_request, response) => void response.writeHead(200).write('{')
    server.script.push(begin, json(pod))
    const read = client.get(ref)
    await server.until(1)
    clock.advance(await clock.sleepBetween(10_000, 10_000))
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await read).toEqual(pod)
  })

  test('a hung request gives its slot back', async () => {
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

describe('connections', () => {
  test('500 reads share a few, and never more are in flight than allowed', async () => {
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
    // A connection is free a moment after its answer was read, so a few more are opened.
    expect(server.connections).toBeLessThan(24)
  })

  test('signals that live long gather no listeners', async () => {
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

describe('get', () => {
  test('absence is believed of the API server only', async () => {
    server.script.push(notFound)
    expect(await client.get(ref)).toBeNull()
    server.script.push((_request, response) => void response.writeHead(404).end('404 page not found'))
    await expect(client.get(ref)).rejects.toThrow('the API server answered 404: 404 page not found')
  })
})

describe('delete', () => {
  const identity = { ...ref, uid: 'u1' }

  test('is bound to the UID', async () => {
    server.script.push(json(pod))
    expect(await client.delete(identity, { graceSeconds: 0, propagation: 'Background' })).toBe('accepted')
    expect(server.received[0]).toMatchObject({ method: 'DELETE', path: '/api/v1/namespaces/a/pods/p' })
    expect(JSON.parse(server.received[0]!.body)).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: 'u1' },
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
    })
  })

  test('a dry run says so in the body, the only place where a delete is read', async () => {
    server.script.push(json(pod))
    await client.delete(identity, { dryRun: true })
    expect(JSON.parse(server.received[0]!.body).dryRun).toEqual(['All'])
  })

  test('nothing of the name is gone; a bare 404 is not', async () => {
    server.script.push(notFound, status(404, '', 'no such route'))
    expect(await client.delete(identity)).toBe('gone')
    await expect(client.delete(identity)).rejects.toThrow('no such route')
  })

  const conflict = status(409, 'Conflict', 'Precondition failed')
  const objectWith = (metadata: object) => json({ ...pod, metadata: { ...pod.metadata, ...metadata } })

  test.each<[string, Answer, string]>([
    ['another UID', objectWith({ uid: 'u2' }), 'other'],
    ['gone meanwhile', notFound, 'gone'],
    ['ours, on its way out', objectWith({ deletionTimestamp: '2026-01-01T00:00:00Z' }), 'accepted'],
  ])('a conflict is judged by the object: %s', async (_name, answer, outcome) => {
    server.script.push(conflict, answer)
    expect(await client.delete(identity)).toBe(outcome)
  })

  test('a conflict over ours that stands is for later', async () => {
    server.script.push(conflict, json(pod))
    await expect(client.delete(identity)).rejects.toThrow(RetryLater)
  })
})

describe('list', () => {
  const page = (names: string[], token?: string) =>
    json({
      kind: 'PodList',
      metadata: { resourceVersion: '9', continue: token },
      items: names.map(name => ({ metadata: { name, namespace: 'a' } })),
    })

  test('in pages, from the server’s own state', async () => {
    server.script.push(page(['a', 'b'], 'next'), page(['c']))
    const listed = await client.list('v1', 'Pod', { labelSelector: 'x=y', fieldSelector: 'f=g' })
    expect(listed.map(object => [object.kind, object.apiVersion, object.metadata.name])).toEqual([
      ['Pod', 'v1', 'a'],
      ['Pod', 'v1', 'b'],
      ['Pod', 'v1', 'c'],
    ])
    const queries = server.received.map(request => Object.fromEntries(request.query))
    expect(queries).toEqual([
      { labelSelector: 'x=y', fieldSelector: 'f=g', limit: '500' },
      { labelSelector: 'x=y', fieldSelector: 'f=g', limit: '500', continue: 'next' },
    ])
    expect(requests).toEqual([
      ['list', '200'],
      ['list', '200'],
    ])
  })

  test('one that expires on the way is read anew, whole', async () => {
    server.script.push(page(['old', 'b'], 'next'), status(410, 'Expired'), page(['b', 'c']))
    const listed = await client.list('v1', 'Pod', { namespace: 'a' })
    expect(listed.map(object => object.metadata.name)).toEqual(['b', 'c'])
    expect(server.received[2]!.query.has('limit')).toBe(false)
  })

  test('no items at all is an empty list', async () => {
    server.script.push(json({ metadata: { resourceVersion: '1' }, items: null }))
    expect(await client.list('v1', 'Pod')).toEqual([])
  })
})

describe('an abort', () => {
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

  test('ends the await of a write, and leaves the write to its answer', async () => {
    const stop = new AbortController()
    let answer: () => void = () => {}
    server.script.push((request, response) => {
      answer = () => json(pod, 201)(request, response)
    })
    const written = watched(client.create(pod, { signal: stop.signal, agent: 'op=7' }))
    await server.until(1)
    stop.abort(new Error('lease lost'))
    await expect(written).rejects.toThrow('lease lost')

    let settled = false
    const wait = client.settled('op=7').then(() => {
      settled = true
    })
    await client.settled('op=8')
    expect(settled).toBe(false)
    expect(requests).toEqual([])
    answer()
    await wait
    expect(requests).toEqual([['create', '201']])
  })

  test('a write that nobody answers settles by its deadline', async () => {
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

  test('that came before sends nothing', async () => {
    await expect(client.create(pod, { signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late')
    expect(server.received).toEqual([])
  })

  test('while a write waits for its slot keeps it from being sent', async () => {
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
