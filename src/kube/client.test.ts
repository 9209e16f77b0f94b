import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { type Answer, json, reset, ScriptedServer, status } from '../../test/kit/kube/server.ts'
import { silentLog } from '../../test/kit/log.ts'
import type { KubeObject } from '../base/domain.ts'
import { RetryLater } from '../base/errors.ts'
import { isAlreadyExists, isOverQuota, KubeClient, KubeError } from './client.ts'

let server: ScriptedServer
let clock: ManualClock
let client: KubeClient
let requests: [verb: string, code: string][]

beforeEach(async () => {
  server = await new ScriptedServer().listen()
  clock = new ManualClock()
  requests = []
  client = new KubeClient({
    kubernetes: { kubeconfig: server.kubeconfig(), requestTimeoutSeconds: 10, maxInFlight: 8 },
    version: '1.2.3',
    replica: 'r1',
    clock,
    log: silentLog,
    onRequest: (verb, code) => requests.push([verb, code]),
  })
})

afterEach(async () => {
  await client.close()
  await server.close()
})

const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'a', name: 'p' }
const pod: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'a', uid: 'u1' } }
const notFound = status(404, 'NotFound', 'pods "p" not found')

/** Settles later; the test awaits it after other steps. */
function watched<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

test('KubeClient.clockMs is the Date of an answer', async () => {
  server.script.push(json({ items: [] }, 200, { Date: 'Tue, 14 Nov 2023 22:13:20 GMT' }))
  expect(await client.clockMs('heal')).toBe(1_700_000_000_000)
  expect(server.received[0]).toMatchObject({ method: 'GET', path: '/api/v1/namespaces' })
})

describe('KubeClient.create', () => {
  test('sends the object with all its fields, and the user agent', async () => {
    const object = { ...pod, spec: { fieldOfTomorrow: [1, { deep: null }] } }
    server.script.push(json({ ...object, metadata: { ...object.metadata, also: 'kept' } }, 201))
    const made = await client.create(object, { agent: 'op=7 claim=2' })
    const [request] = server.received
    expect(request).toMatchObject({ method: 'POST', path: '/api/v1/namespaces/a/pods', body: JSON.stringify(object) })
    expect(request!.headers).toMatchObject({
      authorization: 'Bearer first',
      'user-agent': 'skylab/1.2.3 replica=r1 op=7 claim=2',
      'content-type': 'application/json',
    })
    expect(made).toMatchObject({ apiVersion: 'v1', kind: 'Pod', metadata: { ...object.metadata, also: 'kept' } })
    expect(requests).toEqual([['create', '201']])
  })

  test('sends dryRun in the query', async () => {
    server.script.push(json(pod, 201))
    await client.create(pod, { dryRun: true })
    expect(server.received[0]!.query.get('dryRun')).toBe('All')
  })

  test('throws the server’s message on a refusal, without a retry', async () => {
    server.script.push(status(409, 'AlreadyExists', 'pods "p" already exists'))
    const error = await client.create(pod).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(KubeError)
    expect(error).toMatchObject({ status: 409, reason: 'AlreadyExists', message: 'pods "p" already exists' })
    expect(isAlreadyExists(error)).toBe(true)
    expect(server.received).toHaveLength(1)
  })

  test.each([403, 404, 409, 410, 413, 422])('does not retry %d', async code => {
    server.script.push(status(code, 'Whatever'))
    await expect(client.create(pod)).rejects.toMatchObject({ name: 'KubeError', status: code })
    expect(server.received).toHaveLength(1)
  })

  test('is sent again when the reply is lost', async () => {
    server.script.push(reset, status(409, 'AlreadyExists'))
    const made = watched(client.create(pod))
    clock.advance(await clock.sleepBetween(100, 200))
    await expect(made).rejects.toMatchObject({ reason: 'AlreadyExists' })
    expect(server.received.map(request => request.body)).toEqual([JSON.stringify(pod), JSON.stringify(pod)])
    expect(requests.map(([, code]) => code)).toEqual(['error', '409'])
  })

  test('is sent again when the answer is cut off', async () => {
    const half: Answer = (_request, response) => {
      response.writeHead(201, { 'Content-Length': 100 }).write('{"kind":"Pod"', () => response.destroy())
    }
    server.script.push(half, json(pod, 201))
    const made = client.create(pod)
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await made).toEqual(pod)
  })

  test('is sent again when something other than an API server answers', async () => {
    server.script.push((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>Welcome</h1>')
    })
    server.script.push(json(pod, 201))
    const made = client.create(pod)
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await made).toEqual(pod)
  })
})

describe('KubeClient.create, when its answer is JSON,', () => {
  const answer = (text: string): Answer => {
    return (_request, response) => void response.writeHead(201, { 'Content-Type': 'application/json' }).end(text)
  }

  test.each(['null', '[]', '{}', '{"status":"ok"}', '{"kind":"PodList","apiVersion":"v1"}', '{"kind":"Po', 'no JSON'])(
    'is sent again after something other than the object: %s',
    async text => {
      server.script.push(answer(text), json(pod, 201))
      const made = client.create(pod)
      clock.advance(await clock.sleepBetween(100, 200))
      expect(await made).toEqual(pod)
      expect(server.received).toHaveLength(2)
    },
  )

  test('throws RetryLater when no attempt gets the object', async () => {
    server.fallback = answer('{}')
    const made = watched(client.create(pod))
    for (const fullMs of [200, 400, 800, 1600]) clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
    await expect(made).rejects.toThrow(RetryLater)
  })

  test.each([
    '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","uid":"u1"}}',
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"u1"}}',
    '\n{ "metadata": {"name":"p","uid":"u1"}, "kind": "Pod" }',
  ])('takes the object: %s', async text => {
    server.script.push(answer(text))
    expect((await client.create(pod)).metadata).toEqual({ name: 'p', uid: 'u1' })
  })
})

describe('KubeClient.get', () => {
  test('returns null only when the API server itself says NotFound', async () => {
    server.script.push(notFound)
    expect(await client.get(ref)).toBeNull()
    server.script.push((_request, response) => void response.writeHead(404).end('404 page not found'))
    await expect(client.get(ref)).rejects.toThrow('the API server answered 404: 404 page not found')
  })
})

describe('KubeClient.patch', () => {
  const identity = { ...ref, uid: 'u1' }
  const patch = { spec: { terms: ['x'] } }

  test('merges a patch into the object with this UID', async () => {
    server.script.push(json({ ...pod, patched: true }))
    expect(await client.patch(identity, patch, { agent: 'a' })).toEqual({ ...pod, patched: true })
    const [request] = server.received
    expect(request).toMatchObject({ method: 'PATCH', path: '/api/v1/namespaces/a/pods/p' })
    expect(request!.headers).toMatchObject({ 'content-type': 'application/merge-patch+json' })
    expect(JSON.parse(request!.body)).toEqual({ ...patch, metadata: { uid: 'u1' } })
    expect(requests).toEqual([['patch', '200']])
  })

  test('keeps the metadata of the patch, and binds it to a version', async () => {
    server.script.push(json(pod))
    const metadata = { labels: { a: null }, ownerReferences: [] }
    await client.patch(identity, { ...patch, metadata }, { resourceVersion: '7' })
    expect(JSON.parse(server.received[0]!.body)).toEqual({
      ...patch,
      metadata: { ...metadata, uid: 'u1', resourceVersion: '7' },
    })
  })

  test('cannot be given another UID or version by the patch', async () => {
    server.script.push(json(pod))
    await client.patch(identity, { metadata: { uid: 'u2', resourceVersion: '1' } })
    expect(JSON.parse(server.received[0]!.body).metadata).toEqual({ uid: 'u1' })
  })

  test('writes the status alone, at its own path', async () => {
    server.script.push(json(pod))
    await client.patch(identity, { status: { phase: 'x' } }, { subresource: 'status', resourceVersion: '7' })
    expect(server.received[0]).toMatchObject({ method: 'PATCH', path: '/api/v1/namespaces/a/pods/p/status' })
  })

  test('returns null when the object is gone, and throws when another has its name', async () => {
    server.script.push(notFound, status(422, 'Invalid', 'metadata.uid: field is immutable'))
    expect(await client.patch(identity, patch)).toBeNull()
    await expect(client.patch(identity, patch)).rejects.toMatchObject({ status: 422, reason: 'Invalid' })
  })

  test('is sent again when the reply is lost', async () => {
    server.script.push(reset, json(pod))
    const patched = watched(client.patch(identity, patch))
    clock.advance(await clock.sleepBetween(100, 200))
    expect(await patched).toEqual(pod)
  })
})

describe('KubeClient.delete', () => {
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

  test('sends dryRun in the body, where the server reads it', async () => {
    server.script.push(json(pod))
    await client.delete(identity, { dryRun: true })
    expect(JSON.parse(server.received[0]!.body).dryRun).toEqual(['All'])
  })

  test('returns gone on NotFound, but not on a bare 404', async () => {
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
  ])('judges a conflict by the object: %s', async (_name, answer, outcome) => {
    server.script.push(conflict, answer)
    expect(await client.delete(identity)).toBe(outcome)
  })

  test('is bound to a version too', async () => {
    server.script.push(json(pod))
    expect(await client.deleteVersion(identity, '7')).toBe('accepted')
    expect(JSON.parse(server.received[0]!.body).preconditions).toEqual({ uid: 'u1', resourceVersion: '7' })
  })

  test.each<[string, Answer, string]>([
    ['another version', objectWith({ resourceVersion: '8' }), 'changed'],
    ['another UID', objectWith({ uid: 'u2', resourceVersion: '7' }), 'other'],
    ['gone meanwhile', notFound, 'gone'],
  ])('by version judges a conflict by the object: %s', async (_name, answer, outcome) => {
    server.script.push(conflict, answer)
    expect(await client.deleteVersion(identity, '7')).toBe(outcome)
  })

  test('throws RetryLater on a conflict while the object still exists', async () => {
    server.script.push(conflict, json(pod))
    await expect(client.delete(identity)).rejects.toThrow(RetryLater)
  })
})

describe('KubeClient.list', () => {
  const whole = (object: KubeObject) => object
  const nameOf = ({ metadata }: KubeObject) => metadata.name
  const page = (names: string[], token?: string) =>
    json({
      kind: 'PodList',
      metadata: { resourceVersion: '9', continue: token },
      items: names.map(name => ({ metadata: { name, namespace: 'a' } })),
    })

  test('reads pages of the server’s current state', async () => {
    server.script.push(page(['a', 'b'], 'next'), page(['c']))
    const listed = await client.list('v1', 'Pod', whole, { labelSelector: 'x=y', fieldSelector: 'f=g' })
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

  test('starts anew, in one piece, when a page expires', async () => {
    server.script.push(page(['old', 'b'], 'next'), status(410, 'Expired'), page(['b', 'c']))
    const listed = await client.list('v1', 'Pod', nameOf, { namespace: 'a' })
    expect(listed).toEqual(['b', 'c'])
    expect(server.received[2]!.query.has('limit')).toBe(false)
  })

  test('projects each page before it asks for the next one', async () => {
    const steps: string[] = []
    const next: Answer = (...answer) => {
      steps.push('next page')
      page(['c'])(...answer)
    }
    server.script.push(page(['a', 'b'], 'next'), next)
    const listed = await client.list('v1', 'Pod', object => steps.push(nameOf(object)))
    expect(steps).toEqual(['a', 'b', 'next page', 'c'])
    expect(listed).toEqual([1, 2, 4])
  })

  test('says when each page is there', async () => {
    const steps: string[] = []
    const next: Answer = (...answer) => {
      steps.push('asked for the next')
      page(['c'])(...answer)
    }
    server.script.push(page(['a', 'b'], 'next'), next)
    await client.list('v1', 'Pod', whole, { onPage: () => steps.push('page') })
    expect(steps).toEqual(['page', 'asked for the next', 'page'])
  })

  test('accepts a list without items', async () => {
    server.script.push(json({ metadata: { resourceVersion: '1' }, items: null }))
    expect(await client.list('v1', 'Pod', whole)).toEqual([])
  })
})

describe('isOverQuota', () => {
  const refused = (why: string, code = 403) => new KubeError(code, 'Forbidden', `pods "nb-ada" is forbidden: ${why}`)

  test.each([
    ['exceeded quota: nb-ada, requested: limits.cpu=4, used: limits.cpu=0, limited: limits.cpu=2', true],
    ['failed quota: nb-ada: must specify limits.cpu for: provision', true],
    ['status unknown for quota: nb-ada, resources: limits.cpu', false],
    ['error looking up service account nublado-ada/default: serviceaccount "default" not found', false],
    ["ValidatingAdmissionPolicy 'skylab' denied request: its op is 7, and its namespace has 6", false],
  ])("of '%s' is %s", (why, over) => {
    expect(isOverQuota(refused(why))).toBe(over)
    expect(isOverQuota(refused(why, 422))).toBe(false)
  })
})

describe('KubeClient.log', () => {
  const options = { follow: true, tailLines: 7, container: 'main', headTimeoutMs: 1_000_000 }
  const podRef = { namespace: 'a', name: 'p' }

  test('passes the log on as it comes, and none of it while it is paused', async () => {
    const first = Promise.withResolvers<ServerResponse>()
    server.script.push((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/plain' }).write('one\n')
      first.resolve(response)
    })
    const stream = await client.log(podRef, { ...options, agent: 'log user=ann', signal: new AbortController().signal })
    const [request] = server.received
    expect(request).toMatchObject({ method: 'GET', path: '/api/v1/namespaces/a/pods/p/log' })
    expect(Object.fromEntries(request!.query)).toEqual({ follow: 'true', tailLines: '7', container: 'main' })
    expect(request!.headers['user-agent']).toContain('log user=ann')
    const texts: string[] = []
    const ended = stream.stream(chunk => void texts.push(chunk.toString()))
    stream.pause()
    const response = await first.promise
    // After a request and its answer, what was written before is there too. One chunk may come after a pause.
    for (const text of ['two\n', 'three\n']) {
      await new Promise<void>(resolve => response.write(text, () => resolve()))
      server.script.push(json(pod))
      await client.get(ref)
    }
    expect(texts).not.toContain('three\n')
    stream.resume()
    response.end('four\n')
    await ended
    expect(texts.join('')).toBe('one\ntwo\nthree\nfour\n')
    expect(requests[0]).toEqual(['log', '200'])
  })

  test('waits for a container that says nothing, until its signal ends that', async () => {
    server.script.push(() => {})
    const ending = new AbortController()
    const opening = watched(client.log(podRef, { ...options, signal: ending.signal }))
    await server.until(1)
    clock.advance(60_000)
    ending.abort(new Error('left'))
    await expect(opening).rejects.toThrow('left')
    expect(client.trouble()).toBeUndefined()
  })

  test('throws what the API server refuses', async () => {
    server.script.push(status(400, 'BadRequest', 'container "main" is waiting to start'))
    const opening = client.log(podRef, { ...options, signal: new AbortController().signal })
    await expect(opening).rejects.toMatchObject({ status: 400, message: 'container "main" is waiting to start' })
  })
})
