/** A gateway as a process: login, requests and WebSockets reach the app that they may reach, and nothing else does. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../../../dev/process/api-client.ts'
import { echo } from '../../kit/gateway/raw-app.ts'
import { clientFrame, cookieIn, GatewaySite, host, origin, statusOf } from '../../kit/gateway/site.ts'
import { answering } from '../../kit/gateway/wires.ts'

const requestsPerApp = 8
const socketsPerUser = 4

let site: GatewaySite
beforeAll(async () => {
  const limits = { requestsPerApp, socketsPerUser }
  const gateway = { limits, activity: { ignorePaths: ['/healthz'] } }
  site = await GatewaySite.start({ gateways: 2, config: { gateway } })
})
afterAll(() => site?.stop())

describe('login', () => {
  test('leads from the app to the form, and back with a cookie that opens the app at each replica', async () => {
    const app = await site.app('flow', echo)
    const first = await site.ask('GET /console/apps/flow/a?b=c', ['Accept: text/html'])
    expect(statusOf(first)).toBe(303)
    expect(first).toContain('location: /console/login?next=%2Fconsole%2Fapps%2Fflow%2Fa%3Fb%3Dc'.replace('l', 'L'))
    expect(app.text).toBe('')
    const type = 'Content-Type: application/x-www-form-urlencoded'
    const answer = await site.ask('POST /console/login', [type, `Origin: ${origin}`], {
      body: 'token=ada-token&next=%2Fconsole%2Fapps%2Fflow%2Fa%3Fb%3Dc',
    })
    expect([statusOf(answer), /^location: (.*)\r$/im.exec(answer)?.[1]]).toEqual([303, '/console/apps/flow/a?b=c'])
    const cookie = cookieIn(answer, '__Host-Http-skylab-login')
    for (const gateway of [0, 1]) {
      const served = await site.ask('GET /console/apps/flow/a?b=c', [`Cookie: ${cookie}`], { gateway })
      expect(served).toContain('X-Forwarded-User: ada')
      expect(cookieIn(served, 'phapplication-session-id')).toMatch(/=/)
    }
    expect(app.lines).toEqual(Array(2).fill('GET /console/apps/flow/a?b=c HTTP/1.1'))
    expect(app.text).not.toMatch(/skylab-login|ada-token/)
  })

  test('makes nobody somebody else where one is logged in: an app could have sent the form', async () => {
    const cookie = await site.login('ada')
    const headers = ['Content-Type: application/x-www-form-urlencoded', `Origin: ${origin}`, `Cookie: ${cookie}`]
    const as = (who: string) => site.ask('POST /console/login', headers, { body: `token=${who}-token` })
    const other = await as('grace')
    expect([statusOf(other), other.includes('Log out')]).toEqual([409, true])
    expect(other).not.toMatch(/^set-cookie/im)
    expect(statusOf(await as('ada'))).toBe(303)
  })

  test('refuses a token that nobody has, with the form again', async () => {
    const type = 'Content-Type: application/x-www-form-urlencoded'
    const answer = await site.ask('POST /console/login', [type, `Origin: ${origin}`], { body: 'token=nobody' })
    expect([statusOf(answer), answer.includes('Nobody is known by this token')]).toEqual([401, true])
  })
})

test('an answer that brings a session is kept by no cache, and others are as the app says', async () => {
  await site.app(
    'cached',
    answering('HTTP/1.1 200 OK\r\nCache-Control: public, max-age=99\r\nContent-Length: 0\r\n\r\n'),
  )
  const cookie = await site.login('ada')
  const first = await site.ask('GET /console/apps/cached/', [`Cookie: ${cookie}`])
  expect(first.match(/^cache-control: .*$/gim)).toEqual(['Cache-Control: no-store'])
  const session = cookieIn(first, 'phapplication-session-id')
  const second = await site.ask('GET /console/apps/cached/', [`Cookie: ${cookie}; ${session}`])
  expect(second).toContain('Cache-Control: public, max-age=99')
  expect(second).not.toMatch(/^set-cookie/im)
})

test('a WebSocket of a member is carried both ways', async () => {
  await site.app('ws', echo)
  const client = await site.socket('ws', await site.login('ada'))
  expect(client.text).toMatch(/^HTTP\/1\.1 101 /)
  client.write(clientFrame('hello'))
  await client.has('hello')
})

test('a token of the platform opens one request, and reaches no app', async () => {
  const app = await site.app('cli', echo)
  const answer = await site.ask('GET /console/apps/cli/', ['Authorization: Bearer grace-token'])
  expect([statusOf(answer), /set-cookie/i.test(answer)]).toEqual([200, false])
  expect([app.text.includes('X-Forwarded-User: grace'), app.text.includes('grace-token')]).toEqual([true, false])
})

test.each([
  ['nobody, who asks for a page', 'GET /console/apps/guarded/', ['Accept: text/html'], undefined, 303],
  ['nobody, in a program', 'GET /console/apps/guarded/', [], undefined, 401],
  ['nobody, for an app that there is not', 'GET /console/apps/absent/', [], undefined, 401],
  ['somebody, for an app that there is not', 'GET /console/apps/absent/', [], 'ada', 404],
  ['no member', 'GET /console/apps/guarded/', [], 'eve', 403],
  ['a member, without the slash', 'GET /console/apps/guarded', [], 'ada', 308],
  ['a member, for an app that is stopped', 'GET /console/apps/stopped/', [], 'ada', 503],
])('%s gets its answer, and the app nothing: %s', async (_, line, headers, user, status) => {
  const app = await site.app('guarded', echo)
  await site.route('stopped', { phase: 'Stopped', address: app.address })
  const cookie = user === undefined ? [] : [`Cookie: ${await site.login(user)}`]
  expect(statusOf(await site.ask(line, [...headers, ...cookie]))).toBe(status)
  expect(app.text).toBe('')
})

describe('an app that fails', () => {
  test('has its failure told by the status, and its broken answer is cut', async () => {
    const cookie = [`Cookie: ${await site.login('ada')}`]
    const gone = await site.app('gone', echo)
    gone.stop()
    expect(statusOf(await site.ask('GET /console/apps/gone/', cookie))).toBe(502)
    await site.app('rubbish', answering('SSH-2.0\r\n\r\n'))
    expect(statusOf(await site.ask('GET /console/apps/rubbish/', cookie))).toBe(502)
    const broken = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'
    await site.app(
      'broken',
      answering(broken, wire => wire.socket.destroySoon()),
    )
    const cut = await site.ask('GET /console/apps/broken/', cookie)
    expect([cut.includes('hello'), cut.endsWith('0\r\n\r\n')]).toEqual([true, false])
  })
})

test('a member starts an app that is stopped by the form of its page, and nobody without that page does', async () => {
  await site.route('asleep', { phase: 'Stopped', generation: 7 })
  const cookie = await site.login('ada')
  const page = await site.ask('GET /console/apps/asleep/', [`Cookie: ${cookie}`])
  const token = /name="token" value="([^"]+)"/.exec(page)![1]!
  const post = (as: string, body: string, from = origin) => {
    const type = 'Content-Type: application/x-www-form-urlencoded'
    return site.ask('POST /console/start/asleep', [`Cookie: ${as}`, type, `Origin: ${from}`], { body })
  }
  const refused = [
    await post(cookie, 'token=x'),
    await post(await site.login('ada'), `token=${token}`),
    await post(cookie, `token=${token}`, 'https://evil.example.org'),
  ]
  expect(refused.map(statusOf)).toEqual([403, 403, 403])
  expect(await site.intents.take('test')).toEqual([])
  expect(statusOf(await post(cookie, `token=${token}`))).toBe(503)
  expect(await site.intents.take('test')).toMatchObject([{ id: 'asleep', generation: 7, user: 'ada' }])
  // Somebody of no such group sees the page of a public app, without the form.
  await site.route('asleep', { phase: 'Stopped', audience: { kind: 'loggedIn' } })
  const other = await site.ask('GET /console/apps/asleep/', [`Cookie: ${await site.login('eve')}`])
  expect([statusOf(other), other.includes('<form')]).toEqual([503, false])
})

describe('bounds', () => {
  test('of an app hold, and its neighbours go on', async () => {
    await site.app('full', () => {})
    await site.app('empty', echo)
    const cookie = `Cookie: ${await site.login('ada')}`
    const waiting = await Promise.all(
      Array.from({ length: requestsPerApp }, async () => {
        const client = await site.client()
        client.write(`GET /console/apps/full/ HTTP/1.1\r\nHost: ${host}\r\n${cookie}\r\n\r\n`)
        return client
      }),
    )
    const isFull = async () => (await site.metricSum('skylab_gateway_open', 0)) >= requestsPerApp
    await waitUntil(isFull, { what: 'all requests are at the app', limitMs: 20_000 })
    const busy = await site.ask('GET /console/apps/full/', [cookie])
    expect([statusOf(busy), /^retry-after: 1\r$/im.test(busy)]).toEqual([503, true])
    expect(statusOf(await site.ask('GET /console/apps/empty/', [cookie]))).toBe(200)
    for (const { socket } of waiting) socket.destroy()
    const isEmpty = async () => (await site.metricSum('skylab_gateway_open', 0)) < requestsPerApp
    await waitUntil(isEmpty, { what: 'their places are free', limitMs: 20_000 })
  })

  test('of one person hold for WebSockets, and others open theirs', async () => {
    await site.app('many', echo)
    const [ada, grace] = [await site.login('ada'), await site.login('grace')]
    const open = []
    for (let socket = 0; socket < socketsPerUser; socket++) open.push(await site.socket('many', ada))
    const next = await site.socket('many', ada)
    expect(statusOf(next.text)).toBe(503)
    expect(statusOf((await site.socket('many', grace)).text)).toBe(101)
    for (const { socket } of open) socket.destroy()
  })

  test('of pipelined requests let them be served in their order', async () => {
    const app = await site.app('piped', echo)
    const cookie = `Cookie: ${await site.login('ada')}`
    const get = (path: string) => `GET /console/apps/piped/${path} HTTP/1.1\r\nHost: ${host}\r\n${cookie}\r\n\r\n`
    const client = await site.client()
    client.write(get('a') + get('b') + get('c'))
    await client.when(({ text }) => text.split('HTTP/1.1 200').length === 4)
    expect(app.lines).toEqual(['a', 'b', 'c'].map(path => `GET /console/apps/piped/${path} HTTP/1.1`))
    client.socket.destroy()
  })
})

describe('activity', () => {
  test('is told before the first use is let through, and what is being stopped gets nothing', async () => {
    const app = await site.app('idle', echo)
    const cookie = `Cookie: ${await site.login('ada')}`
    expect(statusOf(await site.ask('GET /console/apps/idle/', [cookie]))).toBe(200)
    const touched = await site.admin.hgetall(site.keys.activity('app', 'idle'))
    expect(touched).toMatchObject({ touchedBy: 'traffic' })
    const flushed = await site.admin.hkeys(site.keys.activityFlushed('app'))
    expect(flushed.sort()).toEqual(['gateway-1', 'gateway-2'])
    // As the script of a stop leaves it.
    await site.app('ending', echo)
    await site.admin.hset(site.keys.activity('app', 'ending'), { pod: 'p', stopping: String(Date.now()) })
    const stopping = await site.ask('GET /console/apps/ending/', [cookie])
    expect([statusOf(stopping), stopping.includes('Nobody has used it')]).toEqual([503, true])
    expect(app.lines.length).toBe(1)
  })

  test('is none of requests at paths that are ignored', async () => {
    await site.app('probed', echo)
    const cookie = `Cookie: ${await site.login('ada')}`
    expect(statusOf(await site.ask('GET /console/apps/probed/healthz', [cookie]))).toBe(200)
    expect(await site.admin.exists(site.keys.activity('app', 'probed'))).toBe(0)
  })
})

test('a gateway tells logins and starts in its audit log, no secret in any line, and names nobody in its metrics', async () => {
  const log = await site.log()
  const lines = log.split('\n').filter(line => line.startsWith('{"log":"audit"'))
  const told = lines
    .map(line => JSON.parse(line))
    .map(({ action, result, actor }) => `${action} ${result} ${actor.name}`)
  expect(told).toContain('session.begin accepted ada')
  expect(told).toContain('session.begin refused undefined')
  expect(told).toContain('app.start accepted ada')
  expect(log).not.toMatch(/ada-token|skylab-login=|session-id=/)
  const metrics = await (await fetch(`${site.gateways[0]!.monitoringUrl}/metrics`)).text()
  expect(metrics).toContain('skylab_gateway_exchanges_total{kind="request",ending="done"}')
  expect(metrics).not.toMatch(/"(ada|grace|flow|guarded|idle)"/)
})
