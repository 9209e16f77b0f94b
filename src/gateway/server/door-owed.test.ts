import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { Wire } from '../../../test/kit/gateway/wires.ts'
import { systemClock } from '../../base/clock.ts'
import { gateway } from '../../config/gateway.ts'
import { limits } from '../../config/limits.ts'
import { Door } from './door.ts'

const stops: (() => void)[] = []
afterAll(() => {
  for (const stop of stops) stop()
})

/** @param answer default: requests are never answered */
async function start(answer: (outgoing: ServerResponse) => void = () => {}) {
  const requests: ServerResponse[] = []
  const upgrades: Socket[] = []
  const doorman = {
    request: (_: unknown, outgoing: ServerResponse) => {
      requests.push(outgoing)
      answer(outgoing)
    },
    upgrade: (_: unknown, socket: Socket) => {
      upgrades.push(socket)
      socket.end('upgraded')
    },
  }
  const door = new Door({ limits: limits.parse({}), gateway: gateway.parse({}), clock: systemClock }, doorman)
  const port = await door.listen('127.0.0.1', 0)
  const client = new Wire(connect({ port, host: '127.0.0.1', allowHalfOpen: true }))
  stops.push(() => {
    for (const socket of [client.socket, ...upgrades]) socket.destroy()
    door.cut()
    void door.stopAccepting()
  })
  return { client, requests, upgrades }
}

const get = (more = '') => `GET /slow HTTP/1.1\r\nHost: a\r\n${more}\r\n`
const upgrade = 'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

test.each([
  ['an upgrade', get(), upgrade, 1],
  ['an upgrade behind an unknown expectation', get('Expect: more\r\n'), upgrade, 0],
  ['CONNECT', get(), 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 1],
])('Door cuts %s when an earlier answer of its connection is owed', async (_, first, then, served) => {
  const { client, requests, upgrades } = await start()
  client.write(`${first}${then}`)
  await client.over()
  expect([client.text, requests.length, upgrades]).toEqual([served === 0 ? expect.any(String) : '', served, []])
})

test('Door passes an upgrade on when all earlier answers of its connection were sent', async () => {
  const { client, requests, upgrades } = await start(outgoing => outgoing.writeHead(204).end())
  client.write(get())
  await client.has('204')
  client.write(upgrade)
  await client.has('upgraded')
  expect([requests.length, upgrades.length]).toEqual([1, 1])
})
