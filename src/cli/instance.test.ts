import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type DispatchScript, dispatchParts } from '../../test/kit/api/dispatch-api.ts'
import { listenApi } from '../api/connections/listen.ts'
import { createDispatchApi } from '../api/dispatch/app.ts'
import { exampleInstances } from '../api/dispatch/words.ts'
import { RetryLater } from '../base/errors.ts'
import type { Management } from '../containers/management.ts'
import { containerEnded, machineEnds, noMachine } from '../containers/problems.ts'
import { main } from '../main.ts'
import { ageOf } from './columns.ts'

const id = 'i-0123456789abcdef0'
const uuid = 'zzzzz-dz642-000000000000a1b'
let folder: string
const cleanUps: (() => unknown)[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skylab-instance-'))
  await writeFile(join(folder, 'token'), 'operator-token\n')
})
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
  await rm(folder, { recursive: true })
})

/** An installation whose management does as the script says. @returns its address */
async function serve(management: Partial<Management> = {}, more: DispatchScript = {}): Promise<string> {
  const parts = dispatchParts({ management, config: { api: { host: '127.0.0.1', port: 0 } }, ...more })
  const server = await listenApi(parts, draining => createDispatchApi({ ...parts, draining }))
  cleanUps.push(() => server.close(0))
  return `http://127.0.0.1:${server.port}`
}

async function other(status: number, headers = {}, body = ''): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status, headers).end(body))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  cleanUps.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function run(url: string | undefined, ...args: string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const env = { ...(url && { SKYLAB_URL: url }), SKYLAB_MANAGEMENT_TOKEN_FILE: join(folder, 'token') }
  const code = await main(args, {
    ...{ env, out: (text: string) => void out.push(text), err: (text: string) => void err.push(text) },
    serve: () => Promise.reject(new Error('nothing is to be served')),
  })
  return { code, out: out.join(''), err: err.join('') }
}

describe('skylab instance list', () => {
  it('prints a line for each machine, and what they cost together', async () => {
    const [each] = exampleInstances.items
    const ending = { ...each!, instance: '', name: 'in-0002', price: 0.25, ending: 'idle', worker_state: 'shutdown' }
    const url = await serve({ instances: async () => [each!, ending] as never })
    const { code, out, err } = await run(url, 'instance', 'list')
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^INSTANCE +TYPE +STATE +BEHAVIOR +PRICE +AGE +ADDRESS +CONTAINER +WHY\n/)
    expect(out).toMatch(new RegExp(`^${each!.instance} +${each!.arvados_instance_type} +${each!.worker_state} `, 'm'))
    expect(out).toMatch(/^in-0002 .* idle$/m)
    expect(out).toContain(`\n2 machines, ${(each!.price + 0.25).toFixed(3)} an hour\n`)
  })

  it('prints the answer with --json', async () => {
    const { code, out } = await run(await serve(), 'instance', 'list', '--json')
    expect([code, JSON.parse(out)]).toEqual([0, exampleInstances])
  })

  it('says so when there is none', async () => {
    expect(await run(await serve({ instances: async () => [] }), 'instance', 'list')).toMatchObject({
      ...{ code: 0, out: 'no machine\n' },
    })
  })

  it('prints words of a machine without the orders for a terminal in them', async () => {
    const broken = { ...exampleInstances.items[0]!, broken: 'disk\u001b]0;full\u0007 \u202egone' }
    const { out } = await run(await serve({ instances: async () => [broken] as never }), 'instance', 'list')
    expect(out).toContain('disk ]0;full gone')
    expect(out).not.toMatch(/[\u001b\u0007\u202e]/)
  })
})

describe('skylab instance', () => {
  it.each(['hold', 'drain', 'run'] as const)('%s asks for it, and says whether the tag stands', async verb => {
    const setBehavior = vi.fn<Management['setBehavior']>(async () => true)
    const url = await serve({ setBehavior })
    expect(await run(url, 'instance', verb, id)).toMatchObject({ code: 0, err: '', out: expect.stringContaining(id) })
    setBehavior.mockResolvedValue(false)
    const { out } = await run(url, 'instance', verb, id, '--json')
    expect(JSON.parse(out)).toEqual({ instance_id: id, [verb]: true, tagged: false })
    expect((await run(url, 'instance', verb, id)).out).toMatch(/The tag in the cloud follows\n$/)
    expect(setBehavior.mock.calls[0]).toEqual([id, verb])
  })

  it('kill passes the reason on', async () => {
    const killInstance = vi.fn<Management['killInstance']>(async () => {})
    const { code, out } = await run(
      await serve({ killInstance }),
      'instance',
      'kill',
      id,
      '--reason',
      'too slow & loud',
    )
    expect([code, out]).toEqual([0, `${id} is being ended\n`])
    expect(killInstance.mock.calls).toEqual([[id, 'too slow & loud']])
  })

  const throws = (error: Error) => ({
    setBehavior: async () => {
      throw error
    },
  })

  it.each([
    ['404 of no such machine', throws(noMachine()), /answers 404: there is no such instance\n$/],
    ['409 of one that ends', throws(machineEnds()), /answers 409: the instance is being shut down\n$/],
    ['503 of a comparison', throws(new RetryLater('the records are being compared')), /answers 503: .*compared/],
  ])('fails with the words of the installation when it gets %s', async (_, management, words) => {
    const { code, out, err } = await run(await serve(management), 'instance', 'hold', id)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(words)
  })

  it('fails with 403 when the token is another, and shows none', async () => {
    await writeFile(join(folder, 'token'), 'some-other-token')
    const { code, err } = await run(await serve(), 'instance', 'list')
    expect([code, err]).toEqual([1, expect.stringMatching(/answers 403: this is not the management token\n$/)])
    expect(err).not.toContain('some-other-token')
  })

  it('fails with 403 when the site has no token', async () => {
    const { code, err } = await run(await serve({}, { managementToken: undefined }), 'instance', 'list')
    expect([code, err]).toEqual([1, expect.stringContaining('dispatch.managementTokenFile is not set')])
  })

  it.each([
    [401, {}, 'login', /answers 401, and is no installation that serves dispatch\n$/],
    [200, {}, '<html>', /answers 200, and is no installation/],
    [
      404,
      {},
      JSON.stringify({ detail: [{ msg: 'no such route', type: 'not_found' }] }),
      /404: it does not serve dispatch/,
    ],
    [302, { location: 'http://127.0.0.1:1/' }, '', /answers 302, and is no installation that serves dispatch/],
    [200, {}, `{"items": [${'"x",'.repeat(5_000_000)}1]}`, /does not answer: .*larger than 16777216 bytes/],
  ])('fails when another server answers %i', async (status, headers, body, words) => {
    const { code, err } = await run(await other(status, headers, body), 'instance', 'list')
    expect([code, err]).toEqual([1, expect.stringMatching(words)])
  })

  it('asks the installation itself when the environment names a proxy', async () => {
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) vi.stubEnv(name, 'http://127.0.0.1:1')
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    const { code } = await run(await serve(), 'instance', 'list').finally(() => vi.unstubAllEnvs())
    expect(code).toBe(0)
  })

  it('fails when nobody answers', async () => {
    const closed = createServer()
    await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise(resolve => closed.close(resolve))
    const { code, err } = await run(`http://127.0.0.1:${port}/`, 'instance', 'list')
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^http://127.0.0.1:${port} does not answer: ECONNREFUSED`)),
    ])
  })

  const url = 'http://127.0.0.1:1'
  it.each([
    [url, ['instance'], 'one of list, hold, drain, run, kill is expected'],
    [url, ['instance', 'end'], 'one of list, hold'],
    [url, ['instance', 'constructor'], 'one of list, hold'],
    [url, ['instance', 'hold'], 'the id or the name of an instance is missing'],
    [url, ['instance', 'hold', 'a', 'b'], '"b" is one word too many'],
    [url, ['instance', 'list', 'a'], '"a" is one word too many'],
    [url, ['instance', 'kill', 'a'], '--reason is missing'],
    [url, ['instance', 'kill', 'a', '--reason', ' '], '--reason is missing'],
    [url, ['instance', 'kill', 'a', '--reason', 'x'.repeat(257)], '--reason has more than 256 characters'],
    [url, ['instance', 'hold', 'a', '--reason', 'x'], '--reason is for kill alone'],
    [url, ['instance', 'list', '--colour'], "Unknown option '--colour'"],
    [url, ['instance', 'list', '--token-file', '/nowhere'], 'cannot be read (ENOENT)'],
    [url, ['instance', 'list', '--token-file', '/dev/null'], 'the file has no token of one line'],
    [undefined, ['instance', 'list'], '--url is missing, and SKYLAB_URL too'],
    ['http://skylab.example.org', ['instance', 'list'], '--url must be an address'],
    ['ftp://x', ['instance', 'list'], '--url must be an address'],
    ['https://ann:secret@x', ['instance', 'list'], '--url must be an address'],
  ])('is refused when the address is %s and the words are %j', async (address, args, words) => {
    const { code, out, err } = await run(address, ...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(words)
    expect(err).not.toContain('secret@')
  })
})

describe('skylab container', () => {
  it('list prints why each container waits', async () => {
    const { code, out } = await run(await serve(), 'container', 'list')
    expect(code).toBe(0)
    expect(out).toMatch(/^CONTAINER +OWNER +STATE +PRIORITY +AGE +VCPUS +RAM +TYPE +WHY\n/)
    expect(out).toMatch(/^zzzzz-dz642-\w{15} +ada +\w+ +500 /m)
  })

  it('list says whether there are more', async () => {
    const found = { items: [{ container: { uuid, state: 'Queued' } }], more: true }
    const { out } = await run(await serve({ containers: async () => found as never }), 'container', 'list')
    expect(out).toMatch(/\n0 have a machine, 1 wait, and more that are not shown\n$/)
  })

  it('kill passes the reason on, and fails when it has ended', async () => {
    const killContainer = vi.fn<Management['killContainer']>(async () => {})
    const url = await serve({ killContainer })
    expect(await run(url, 'container', 'kill', uuid, '--reason', 'a mistake')).toMatchObject({
      ...{ code: 0, out: `${uuid} is being cancelled\n` },
    })
    expect(killContainer.mock.calls).toEqual([[uuid, 'a mistake']])
    killContainer.mockRejectedValue(containerEnded())
    const { code, err } = await run(url, 'container', 'kill', uuid, '--reason', 'a mistake')
    expect([code, err]).toEqual([1, expect.stringMatching(/answers 409: the container has ended\n$/)])
  })
})

it.each([
  [0, '0s'],
  [61_000, '1m1s'],
  [3_661_000, '1h1m'],
  [90_000_000, '1d1h'],
])('ageOf %i ms is %s', (ms, words) => {
  expect(ageOf(ms)).toBe(words)
})
