import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { forgedHost } from '../../../test/kit/api/forged-hosts.ts'
import { apiParts, prefix, scriptedLabs } from '../../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import { createLogger } from '../../telemetry/log.ts'
import { settleHead } from '../request/head.ts'
import { startApiServer } from '../server.ts'

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

/** A server on a port, with the routes of its log and the labs that it was asked to delete. */
async function start() {
  const clock = new ManualClock()
  const routes: string[] = []
  const deleted: string[] = []
  const write = (line: string) => {
    const { msg, method, route } = JSON.parse(line)
    if (msg === 'request') routes.push(`${method} ${route}`)
  }
  const remove = async (user: string) => deleted.push(user) > 0
  const labs = scriptedLabs({ delete: remove, running: async () => ['ada', 'grace'] })
  const log = createLogger({ level: 'debug', replica: 'r1', destination: { write: write as never } })
  const server = await startApiServer(apiParts({ clock, labs, log }, { host: '127.0.0.1', port: 0 }))
  cleanUps.push(async () => {
    const closed = server.close(1)
    clock.advance(1)
    await closed
  })
  return { port: server.port, routes, deleted }
}

interface Ask {
  readonly method?: string
  readonly target: string
  readonly host: string
  readonly caller?: string
}

/** Sends a head with these bytes; returns status and body. */
async function ask({ port }: { port: number }, { method = 'GET', target, host, caller = 'both' }: Ask) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  cleanUps.push(() => socket.destroy())
  await once(socket, 'connect')
  const lines = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${caller}-token`]
  socket.write(Buffer.from(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`, 'latin1'))
  const reply = await text(socket)
  return { status: Number(reply.split(' ')[1]), body: reply.slice(reply.indexOf('\r\n\r\n') + 4) }
}

const own = `${prefix}/user-status`

describe('a forged Host', () => {
  it.each([
    ['DELETE', own, `${prefix}/labs/victim`, '\\'],
    ['DELETE', own, `${prefix}/labs/victim`, '/'],
    ['GET', own, `${prefix}/labs`, '\\'],
    ['GET', own, `${prefix}/labs`, '/'],
    ['GET', `${prefix}/openapi.json`, '/metrics', '\\'],
    ['GET', `http://skylab.example.org${own}`, `${prefix}/labs`, '\\'],
  ] as const)('is 400 and reaches nothing: %s %s with the path %s by %s', async (method, target, path, separator) => {
    const server = await start()
    const { host } = forgedHost(path, undefined, separator)
    const { status, body } = await ask(server, { method, target, host })
    expect({ status, routes: server.routes, deleted: server.deleted }).toEqual({
      status: 400,
      routes: [`${method} unknown`],
      deleted: [],
    })
    expect(JSON.parse(body)).toEqual({
      detail: [{ msg: expect.any(String), type: 'malformed', loc: ['header', 'host'] }],
    })
  })
})

describe('the server', () => {
  it.each([
    ...['skylab', 'SKYLAB', 'skylab.example.org', 'a_b.c-d', '10.0.0.7:8080', 'x:0', '[::1]', '[::ffff:1.2.3.4]:65535'],
    'a'.repeat(253),
  ])('accepts the Host %s', async host => {
    const server = await start()
    expect(await ask(server, { target: own, host })).toMatchObject({ status: 404 })
    expect(server.routes).toEqual([`GET ${own}`])
  })

  it.each([
    ...['', 'a b', 'a/b', 'a\\b', 'a?b', 'a#b', 'a@b', 'a,b', 'a%62', '\u00fc', 'a:', 'a:b', 'a:123456', 'a:1:2'],
    ...['[::1', '::1', '[::1]x', '[]', '[g::1]', '[fe80::1%25eth0]', ':80', 'a;b', '*', '"a"', 'a'.repeat(254)],
  ])('answers 400 to the Host %s', async host => {
    const server = await start()
    expect(await ask(server, { target: own, host })).toMatchObject({ status: 400 })
    expect(server.routes).toEqual(['GET unknown'])
  })
})

describe('the request target', () => {
  it.each([
    ['with another host than the header', `http://other:8080${own}`, 404],
    ['whose scheme is in capitals', `HTTPS://skylab${own}`, 404],
    ['with a query', `${own}?a=/../labs\\#x`, 404],
    ['with a user', `http://ada@skylab${own}`, 400],
    ['with an empty host', `http://${own}`, 400],
    ['with a forged host', `http://${forgedHost(`${prefix}/labs`).host}${own}`, 400],
    ['of another protocol', `ftp://skylab${own}`, 400],
    ['that is an authority', 'skylab:80', 400],
    ['that is a star', '*', 400],
    ['with a backslash', `${prefix}\\labs`, 400],
    ['with a fragment', `${own}#/labs`, 400],
    ['with a parameter of its path', `${own};/labs`, 404],
    ['with an encoded slash', `${prefix}/labs%2Fada`, 404],
    ['with two slashes', `/${own}`, 404],
  ])('%s leads to its own path or to nothing', async (_, target, status) => {
    const server = await start()
    expect((await ask(server, { target, host: 'skylab' })).status).toBe(status)
    expect(['GET unknown', `GET ${own}`]).toContain(server.routes[0] ?? 'GET unknown')
  })

  it('is the only source of the framework’s URL, without query and host', () => {
    const rawHeaders = ['Host', 'other', 'X', 'y']
    const incoming = { url: `http://third${own}?q`, httpVersion: '1.1', rawHeaders, headers: { host: 'other' } }
    expect(settleHead(incoming as unknown as IncomingMessage, { maxHeaders: 9, maxTargetBytes: 99 })).toEqual({
      ...{ path: own, query: 'q' },
    })
    expect(incoming).toMatchObject({ url: own, headers: { host: 'localhost' } })
  })
})

/** The route of a path by the list of routes, without the framework. */
function routeOf(path: string): string {
  const names = ['labs', 'labs/:username', 'labs/:username/create', 'labs/:username/events', 'lab-form/:username']
  const others = ['user-status', 'images', 'prepulls', 'openapi.json', 'docs', 'docs/:file']
  const all = [...names, ...others].map(name => `${prefix}/${name}`)
  const fits = (route: string) => new RegExp(`^${route.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`).test(path)
  return all.find(fits) ?? 'unknown'
}

const part = fc.constantFrom(
  'labs',
  'ada',
  'events',
  'create',
  'user-status',
  'images',
  'docs',
  'x',
  '%2F',
  ';',
  '',
  '*',
)
const routed = fc.constantFrom(own, `${prefix}/labs`, `${prefix}/labs/ada`, `${prefix}/openapi.json`, '/metrics', '/')
const path = fc.oneof(
  routed,
  fc.array(part, { maxLength: 4 }).map(parts => [prefix, ...parts].join('/')),
)
const latin1 = fc.string({ unit: fc.integer({ min: 0x21, max: 0xff }).map(code => String.fromCharCode(code)) })
const forged = fc
  .record({ to: routed, letter: fc.constantFrom('\u00fc', '\u00e9', '\u00ff'), by: fc.constantFrom('/', '\\') })
  .map(({ to, letter, by }) => forgedHost(to, letter, by as '/').host)
const host = fc.oneof(forged, latin1, fc.constantFrom('skylab', 'skylab:80', '[::1]:8080', '1\\x?yyy', 'x\\labs?'))
const target = fc.record({
  origin: fc.oneof(
    { weight: 3, arbitrary: fc.constant('') },
    host.map(each => `http://${each}`),
  ),
  path,
  query: fc.constantFrom('', '?', '?x=1', '?/../labs', '?http://y/'),
})

describe('for any Host and any target', () => {
  it('the answer is 400, or that of the target’s route', async () => {
    const server = await start()
    const counts = { refused: 0, served: 0 }
    await fc.assert(
      fc.asyncProperty(host, target, async (host, { origin, path, query }) => {
        server.routes.length = 0
        const { status } = await ask(server, { target: `${origin}${path}${query}`, host, caller: 'hub' })
        counts[status === 400 ? 'refused' : 'served'] += 1
        expect(server.routes).toEqual(
          status === 400 ? server.routes.filter(route => route === 'GET unknown') : [`GET ${routeOf(path)}`],
        )
      }),
      { numRuns: 200 },
    )
    expect(Math.min(counts.refused, counts.served)).toBeGreaterThan(20)
  })
})

describe('the source of the API', () => {
  const folder = new URL('../', import.meta.url)
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name =>
    /(?<!\.test)\.ts$/.test(name),
  )

  it('reads target and Host of a request in head.ts only', () => {
    const reads =
      /\b(?:req|request|raw)\.url\b|\breq\.path\b|\bincoming\.url\b|headers\.host\b|\.hostname\b|header\('host'\)/
    const readers = sources.filter(name => reads.test(readFileSync(new URL(name, folder), 'utf8')))
    expect(sources.length).toBeGreaterThan(20)
    expect(readers).toEqual(['request/head.ts'])
  })
})
