import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { type Asked, json, LocalServer, type Respond, status } from '../../../test/kit/images/server.ts'
import { RawServer, type RespondRaw, rawAnswer, rawFaults, rawHangs } from '../../../test/kit/network/raw-server.ts'
import type { Look } from './evidence.ts'
import { type ProbeOptions, probe } from './probe.ts'
import type { ProbeTarget } from './questions.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0)) await close()
})

const credential = 'secret-of-ada-4f1d'
const prefix = '/user/ada/'
const paths = {
  kernels: `${prefix}api/kernels?no_track_activity=1`,
  terminals: `${prefix}api/terminals?no_track_activity=1`,
  status: `${prefix}api/status?no_track_activity=1`,
}
/** Ages are counted from the `Date` that the server sends, a whole second. */
const date = 'Thu, 14 Aug 2025 03:25:26 GMT'
const secondsAgo = (seconds: number): string => new Date(Date.parse(date) - seconds * 1000).toISOString()
const kernel = (execution_state: string, seconds: number) => ({ execution_state, last_activity: secondsAgo(seconds) })
const dated = (value: unknown): Respond => json(value, { Date: date })

const targetOf = (port: number, change: Partial<ProbeTarget> = {}): ProbeTarget => ({
  address: '127.0.0.1',
  port,
  prefix,
  credential,
  ...change,
})

/** Answers by path; other paths are not found. */
const byPath =
  (answers: Readonly<Record<string, Respond>>): Respond =>
  (asked: Asked, response) =>
    (answers[asked.path] ?? status(404))(asked, response)

async function serve(answers: Readonly<Record<string, Respond>>): Promise<LocalServer> {
  const server = await LocalServer.start(byPath(answers))
  closing.push(() => server.stop())
  return server
}

async function serveRaw(respond: RespondRaw): Promise<RawServer> {
  const server = await RawServer.start(respond)
  closing.push(() => server.stop())
  return server
}

const portOf = ({ url }: LocalServer): number => Number(new URL(url).port)

function look(
  port: number,
  {
    target = {},
    clock = new ManualClock(),
    ...options
  }: Partial<ProbeOptions> & {
    readonly target?: Partial<ProbeTarget>
    readonly clock?: ManualClock
  } = {},
): Promise<Look> {
  const { signal } = new AbortController()
  const sources = ['kernels', 'terminals'] as const
  return probe(clock, targetOf(port, target), { sources, timeoutMs: 10_000, signal, ...options })
}

describe('probe of a Jupyter server', () => {
  test('asks for kernels, then for terminals, with the token and without tracking', async () => {
    const server = await serve({ [paths.kernels]: dated([kernel('idle', 50)]), [paths.terminals]: dated([]) })
    expect(await look(portOf(server))).toEqual({
      kind: 'seen',
      busy: false,
      ageMs: 50_000,
      source: 'kernels',
      readings: {},
    })
    expect(server.lines).toEqual([`GET ${paths.kernels}`, `GET ${paths.terminals}`])
    for (const { headers } of server.asked) {
      expect(headers).toMatchObject({ authorization: `token ${credential}`, 'accept-encoding': 'identity' })
    }
  })

  test('asks without Authorization when there is no credential', async () => {
    const server = await serve({ [paths.kernels]: dated([]), [paths.terminals]: dated([]) })
    const seen = await look(portOf(server), { target: { credential: undefined } })
    expect(seen).toMatchObject({ kind: 'seen', busy: false, ageMs: undefined, source: undefined })
    expect(server.shown).toEqual([undefined, undefined])
  })

  test('asks nothing more when a kernel is busy, and keeps the readings', async () => {
    const server = await serve({ [paths.kernels]: dated([kernel('idle', 5), kernel('busy', 500)]) })
    const metric = { port: portOf(server), path: '/metrics', name: 'requests', as: 'counter' } as const
    const seen = await look(portOf(server), { metric, readings: { 'metric:requests': 7 } })
    expect(seen).toEqual({ kind: 'seen', busy: true, ageMs: 0, source: 'kernels', readings: { 'metric:requests': 7 } })
    expect(server.lines).toEqual([`GET ${paths.kernels}`])
  })

  test('takes 404 for terminals as none, but not for kernels', async () => {
    const server = await serve({ [paths.kernels]: dated([kernel('idle', 50)]) })
    expect(await look(portOf(server))).toMatchObject({ kind: 'seen', ageMs: 50_000, source: 'kernels' })
    expect(await look(portOf(await serve({})))).toEqual({ kind: 'unreachable', words: 'it answers 404' })
  })

  test('shows the newest activity of all sources', async () => {
    const server = await serve({
      [paths.kernels]: dated([kernel('idle', 50)]),
      [paths.terminals]: dated([{ name: '1', last_activity: secondsAgo(40) }]),
      [paths.status]: dated({ started: secondsAgo(900), last_activity: secondsAgo(45) }),
    })
    const sources = ['server', 'terminals', 'kernels'] as const
    expect(await look(portOf(server), { sources })).toMatchObject({ ageMs: 40_000, source: 'terminals' })
    expect(await look(portOf(server), { sources: ['server'] })).toMatchObject({ ageMs: 45_000, source: 'server' })
    expect(server.lines.slice(3)).toEqual([`GET ${paths.status}`])
  })

  test('shares one connection among its questions, and closes it', async () => {
    // A client that keeps the connection keeps it as long as the server allows.
    const headers = 'Keep-Alive: timeout=600\r\n'
    const server = await serveRaw((socket, head) => {
      socket.write(rawAnswer(JSON.stringify(head.includes('kernels') ? [kernel('idle', 50)] : []), { headers }))
    })
    expect(await look(server.port, { sources: ['kernels', 'terminals'] })).toMatchObject({ ageMs: 50_000 })
    expect([server.heads.length, server.connections]).toEqual([2, 1])
    await server.when(({ open }) => open === 0)
  })

  test('asks over another connection when the server closes the first', async () => {
    const server = await serveRaw((socket, head) => {
      const body = JSON.stringify(head.includes('kernels') ? [kernel('idle', 50)] : [])
      socket.end(rawAnswer(body, { headers: 'Connection: close\r\n' }))
    })
    expect(await look(server.port)).toMatchObject({ kind: 'seen', ageMs: 50_000 })
    expect(server.connections).toBe(2)
  })
})

describe('probe of a sidecar', () => {
  test('compares a counter with the reading before, and shows the token to nobody but the Jupyter server', async () => {
    const server = await serve({ [paths.kernels]: dated([kernel('idle', 50)]) })
    const sidecar = await serve({ '/stats?format=text': (_, response) => response.end('requests{code="200"} 8\n') })
    const metric = { port: portOf(sidecar), path: '/stats?format=text', name: 'requests', as: 'counter' } as const
    const first = await look(portOf(server), { metric })
    expect(first).toMatchObject({ ageMs: 50_000, source: 'kernels', readings: { 'metric:requests': 8 } })
    const grown = await look(portOf(server), { metric, readings: { 'metric:requests': 7 } })
    expect(grown).toMatchObject({ busy: false, ageMs: 0, source: 'metric', readings: { 'metric:requests': 8 } })
    expect(sidecar.shown).toEqual([undefined, undefined])
  })

  test('reads a time by its pointer, without any Jupyter server', async () => {
    const sidecar = await serve({ '/healthz': dated({ status: 'alive', lastHeartbeat: Date.parse(secondsAgo(30)) }) })
    const place = { port: portOf(sidecar), path: '/healthz', pointer: '/lastHeartbeat', as: 'timestamp' } as const
    const seen = await look(1, { sources: [], json: place })
    expect(seen).toEqual({ kind: 'seen', busy: false, ageMs: 30_000, source: 'json', readings: {} })
  })

  test.each(['', 'metrics', '?a=b', '/a b', '//evil.test', '@evil.test/', '/a\r\nX-Evil: 1'])(
    'asks nothing at the path %j of a sidecar',
    async path => {
      const sidecar = await serve({})
      const metric = { port: portOf(sidecar), path, name: 'requests', as: 'counter' } as const
      const words = 'its path is not one of a URL'
      expect(await look(1, { sources: [], metric })).toEqual({ kind: 'unreachable', words })
      expect(sidecar.asked).toEqual([])
    },
  )

  test('is unreachable when the sidecar does not answer, whatever the kernels show', async () => {
    const server = await serve({ [paths.kernels]: dated([kernel('idle', 50)]) })
    const metric = { port: portOf(server), path: '/metrics', name: 'requests', as: 'counter' } as const
    expect(await look(portOf(server), { metric })).toEqual({ kind: 'unreachable', words: 'it answers 404' })
  })
})

describe('probe of a server that refuses', () => {
  test.each([401, 403])('is denied after %i', async code => {
    const server = await serve({ [paths.kernels]: status(code) })
    expect(await look(portOf(server))).toEqual({ kind: 'denied', words: `it answers ${code}` })
    const without = await look(portOf(server), { target: { credential: undefined } })
    expect(without).toEqual({ kind: 'denied', words: `it answers ${code}, asked without a credential` })
  })

  test('is denied when terminals are refused', async () => {
    const server = await serve({ [paths.kernels]: dated([]), [paths.terminals]: status(403) })
    expect(await look(portOf(server))).toEqual({ kind: 'denied', words: 'it answers 403' })
  })

  test.each(['a\r\nX-Evil: 1', 'a b', 'ä', '\0', 'x'.repeat(5000)])(
    'sends no credential that no header can contain: %#',
    async strange => {
      const server = await serve({ [paths.kernels]: status(403) })
      expect(await look(portOf(server), { target: { credential: strange } })).toEqual({
        kind: 'denied',
        words: 'it answers 403, asked without its credential, which no header can contain',
      })
      expect(server.shown).toEqual([undefined])
      expect(server.asked[0]!.headers).not.toHaveProperty('x-evil')
    },
  )

  test.each([204, 301, 302, 307, 400, 429, 500, 503])('is unreachable after %i, and follows nothing', async code => {
    const elsewhere = await serve({})
    const server = await serve({ [paths.kernels]: status(code, { Location: `${elsewhere.url}/` }) })
    expect(await look(portOf(server))).toEqual({ kind: 'unreachable', words: `it answers ${code}` })
    expect([server.asked.length, elsewhere.asked.length]).toEqual([1, 0])
  })
})

describe('probe of a hostile server', () => {
  test.each(Object.entries(rawFaults))(
    'is unreachable after %s, with a cause and without secrets',
    async (_, fault) => {
      const server = await serveRaw(fault)
      const result = await look(server.port)
      expect(result).toEqual({ kind: 'unreachable', words: expect.stringMatching(/^(the|its) \w+/) })
      expect(JSON.stringify(result)).not.toContain('secret')
      expect(server.heads.length).toBe(1)
      await server.when(({ open }) => open === 0)
    },
  )

  test.each(Object.entries(rawHangs))('is unreachable when %s lasts beyond the deadline', async (_, hang) => {
    const server = await serveRaw(hang)
    const clock = new ManualClock()
    const looking = look(server.port, { clock })
    await server.when(({ heads }) => heads.length === 1)
    clock.advance(10_000)
    expect(await looking).toMatchObject({ kind: 'unreachable', words: expect.stringContaining('no answer in time') })
    await server.when(({ open }) => open === 0)
    expect(clock.sleeping).toBe(0)
  })

  test('has one deadline for all questions together', async () => {
    const clock = new ManualClock()
    const server = await serveRaw((socket, head) => {
      if (!head.includes('kernels')) return
      clock.advance(6000)
      socket.write(rawAnswer(JSON.stringify([kernel('idle', 50)])))
    })
    const looking = look(server.port, { clock })
    await server.when(({ heads }) => heads.length === 2)
    clock.advance(4000)
    expect(await looking).toMatchObject({ kind: 'unreachable', words: expect.stringContaining('no answer in time') })
  })

  test('is unreachable after a compressed answer', async () => {
    const zipped = gzipSync('[]')
    const server = await serve({
      [paths.kernels]: (_, response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(zipped),
    })
    const words = 'its answer is compressed, which was not asked for'
    expect(await look(portOf(server))).toEqual({ kind: 'unreachable', words })
  })

  test('is unreachable after an answer that is not JSON, and quotes nothing of it', async () => {
    const server = await serve({ [paths.kernels]: (_, response) => response.end('<html>secret-of-ada</html>') })
    expect(await look(portOf(server))).toEqual({ kind: 'unreachable', words: 'its answer is not JSON' })
  })

  test('takes the first of two answers for kernels, and no second one for terminals', async () => {
    const busyLater = rawAnswer(JSON.stringify([kernel('idle', 50)])) + rawAnswer('[{"last_activity":"forged"}]')
    const server = await serveRaw((socket, head) =>
      socket.write(head.includes('kernels') ? busyLater : rawAnswer('[]')),
    )
    expect(await look(server.port)).toMatchObject({ kind: 'seen', ageMs: 50_000 })
  })

  test('is unreachable when nothing listens', async () => {
    const server = await RawServer.start(() => {})
    const { port } = server
    await server.stop()
    expect(await look(port)).toEqual({ kind: 'unreachable', words: 'nothing listens on this port' })
  })
})

describe('probe of a strange target', () => {
  test.each<[Partial<ProbeTarget>, string]>([
    [{ address: 'localhost' }, 'its address is not an IP address'],
    [{ address: '' }, 'its address is not an IP address'],
    [{ address: '127.0.0.1@evil.test' }, 'its address is not an IP address'],
    [{ address: '127.1' }, 'its address is not an IP address'],
    [{ address: 'fe80::1%lo' }, 'its address is not an IP address'],
    [{ port: 0 }, 'its port is not between 1 and 65535'],
    [{ port: 65_536 }, 'its port is not between 1 and 65535'],
    [{ port: Number.NaN }, 'its port is not between 1 and 65535'],
    [{ prefix: '' }, 'its prefix is not a path'],
    [{ prefix: '/user/ada' }, 'its prefix is not a path'],
    [{ prefix: '/user/?a=/' }, 'its prefix is not a path'],
    [{ prefix: 'user/ada/' }, 'its path is not one of a URL'],
    [{ prefix: '@evil.test/' }, 'its path is not one of a URL'],
    [{ prefix: '//evil.test/' }, 'its path is not one of a URL'],
    [{ prefix: '/a\r\nX-Evil: 1/' }, 'its path is not one of a URL'],
    [{ prefix: '/a b/' }, 'its path is not one of a URL'],
    [{ prefix: '/a#/' }, 'its path is not one of a URL'],
    [{ prefix: '/\\evil/' }, 'its path is not one of a URL'],
  ])('is unreachable without a request: %j', async (target, words) => {
    const server = await serve({})
    expect(await look(portOf(server), { target })).toEqual({ kind: 'unreachable', words })
    expect(server.asked).toEqual([])
  })

  test('uses no proxy that the environment names', async () => {
    const proxy = await serve({})
    vi.stubEnv('HTTP_PROXY', proxy.url)
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    const server = await serve({ [paths.kernels]: dated([kernel('busy', 5)]) })
    expect(await look(portOf(server))).toMatchObject({ kind: 'seen', busy: true })
    expect(proxy.asked).toEqual([])
  })
})

describe('probe with a signal', () => {
  test('throws the reason of the signal, and closes the connection', async () => {
    const server = await serveRaw(rawHangs['half a body'])
    const stop = new AbortController()
    const looking = look(server.port, { signal: stop.signal })
    await server.when(({ heads }) => heads.length === 1)
    const reason = new Error('the lease is lost')
    stop.abort(reason)
    await expect(looking).rejects.toBe(reason)
    await server.when(({ open }) => open === 0)
  })

  test('asks nothing when the signal was aborted before', async () => {
    const server = await serveRaw(rawHangs['no answer'])
    const reason = new Error('the lease is lost')
    await expect(look(server.port, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(server.heads).toEqual([])
  })
})
