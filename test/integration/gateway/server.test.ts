/** A gateway as a process: login, requests and WebSockets reach the app that they may reach, and nothing else does. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { echo } from '../../kit/gateway/raw-app.ts'
import { clientFrame, cookieIn, GatewaySite, origin, statusOf } from '../../kit/gateway/site.ts'

let site: GatewaySite
beforeAll(async () => {
  site = await GatewaySite.start({ gateways: 2 })
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
    const cookie = cookieIn(answer, '__Host-skylab-login')
    for (const gateway of [0, 1]) {
      const served = await site.ask('GET /console/apps/flow/a?b=c', [`Cookie: ${cookie}`], { gateway })
      expect(served).toContain('X-Forwarded-User: ada')
      expect(cookieIn(served, 'phapplication-session-id')).toMatch(/=/)
    }
    expect(app.lines).toEqual(Array(2).fill('GET /console/apps/flow/a?b=c HTTP/1.1'))
    expect(app.text).not.toMatch(/skylab-login|ada-token/)
  })

  test('refuses a token that nobody has, with the form again', async () => {
    const type = 'Content-Type: application/x-www-form-urlencoded'
    const answer = await site.ask('POST /console/login', [type, `Origin: ${origin}`], { body: 'token=nobody' })
    expect([statusOf(answer), answer.includes('Nobody is known by this token')]).toEqual([401, true])
  })
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
  ['nobody, who asks for a page', 'GET /console/apps/members/', ['Accept: text/html'], undefined, 303],
  ['nobody, in a program', 'GET /console/apps/members/', [], undefined, 401],
  ['nobody, for an app that there is not', 'GET /console/apps/absent/', [], undefined, 401],
  ['somebody, for an app that there is not', 'GET /console/apps/absent/', [], 'ada', 404],
  ['no member', 'GET /console/apps/members/', [], 'eve', 403],
  ['a member, without the slash', 'GET /console/apps/members', [], 'ada', 308],
  ['a member, for an app that is stopped', 'GET /console/apps/stopped/', [], 'ada', 503],
])('%s gets its answer, and the app nothing: %s', async (_, line, headers, user, status) => {
  const app = await site.app('members', echo)
  await site.route('stopped', { phase: 'Stopped', address: app.address })
  const cookie = user === undefined ? [] : [`Cookie: ${await site.login(user)}`]
  expect(statusOf(await site.ask(line, [...headers, ...cookie]))).toBe(status)
  expect(app.text).toBe('')
})
