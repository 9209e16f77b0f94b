/** Ports and shells of containers on machines of this host, through replicas that do not keep them. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'
import { runShell, type Shown, serverCommand, startShell } from '../../kit/dispatch/inside.ts'

const patience = { timeout: 120_000, interval: 50 }

let fleet: DispatchFleet
let uuid: string
let killed: unknown
let port: number
beforeAll(async () => {
  fleet = await DispatchFleet.start({ replicas: 3, containers: { ShellAccess: { Admin: true, User: true } } })
  ;({ uuid, port } = await serving())
}, 120_000)
afterAll(() => fleet?.stop())

async function serving(): Promise<{ readonly uuid: string; readonly port: number }> {
  const made = await fleet.submit({ command: serverCommand })
  return { uuid: made, port: Number(await vi.waitFor(() => printed(made), patience)) }
}

async function printed(made: string): Promise<string> {
  const said = await fleet.output(made)
  if (!said.endsWith('\n')) throw new Error('it does not serve yet')
  return said
}

const pathOf = (of = { uuid, port }) => `/dispatch/v1/containers/${of.uuid}/ports/${of.port}`
const headers = () => ({ authorization: `Bearer ${fleet.tokenOf('ada')}` })
const shellAt = (replica: number, ...args: string[]) => ({
  ...{ url: fleet.replicas[replica]!.url, token: fleet.tokenOf('ada'), args: [uuid, ...args] },
})
const asSocket = (url: string) => url.replace(/^http/, 'ws')

describe('a port of a running container', () => {
  test('is carried by any replica, both ways, without what is the platform’s', async () => {
    for (const replica of [0, 1, 2]) {
      const init = { method: 'POST', body: { x: replica }, headers: { 'x-auth-request-user': 'root' } }
      const answer = await fleet.rest('ada', `${pathOf()}/a/b?c=d%20e`, init, replica)
      expect(answer.status).toBe(200)
      const said = JSON.parse(answer.body as string) as Shown
      expect([said.method, said.path, said.body]).toEqual(['POST', '/a/b?c=d%20e', JSON.stringify({ x: replica })])
      const names = said.headers.filter((_, index) => index % 2 === 0).map(name => name.toLowerCase())
      expect(names).toContain('x-forwarded-prefix')
      for (const name of ['authorization', 'cookie', 'x-auth-request-user']) expect(names).not.toContain(name)
      expect(said.headers.join('\n')).not.toContain(fleet.tokenOf('ada'))
      expect(answer.headers.get('set-cookie')).toBeNull()
      expect(answer.headers.get('x-forwarded-user')).toBeNull()
      expect(answer.headers.get('content-security-policy')).toBe('sandbox')
    }
  })

  test('is answered with the place in it that an answer leads to', async () => {
    const url = `${fleet.replicas[1]!.url}${pathOf()}/moved`
    const moved = await fetch(url, { redirect: 'manual', headers: headers() })
    expect([moved.status, moved.headers.get('location')]).toEqual([302, `${pathOf()}/elsewhere`])
  })

  test('keeps no turn of its user while many requests have no answer, and is kept by no cache of others', async () => {
    const { url, monitoringUrl } = fleet.replicas[1]!
    const count = 12
    const enough = new AbortController()
    const silent = Array.from({ length: count }, () =>
      fetch(`${url}${pathOf()}/silent`, { headers: headers(), signal: enough.signal }),
    )
    const all = Promise.allSettled(silent)
    const open = async () => {
      const text = await (await fetch(`${monitoringUrl}/metrics`)).text()
      return Number(/^skylab_dispatch_tunnels_open(?:{[^}]*})? (\d+)/m.exec(text)?.[1])
    }
    // By default a user has eight turns.
    await expect.poll(open, patience).toBeGreaterThanOrEqual(count)
    const answer = await fleet.rest('ada', `${pathOf()}/public`, {}, 1)
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'private, no-store'])
    enough.abort()
    await all
    await expect.poll(open, patience).toBe(0)
  })

  test('is answered without a body when HEAD is asked, and with that of the path / without one', async () => {
    const url = `${fleet.replicas[2]!.url}${pathOf()}`
    const head = await fetch(url, { method: 'HEAD', headers: headers() })
    expect([head.status, await head.text()]).toEqual([200, ''])
    const root = (await (await fetch(url, { headers: headers() })).json()) as Shown
    expect(root.path).toBe('/')
  })

  test('speaks WebSocket at any replica', async () => {
    const socket = new WebSocket(asSocket(`${fleet.replicas[2]!.url}${pathOf()}/socket`), { headers: headers() })
    await once(socket, 'open')
    for (const word of ['one', 'x'.repeat(200_000)]) {
      socket.send(word)
      expect(String((await once(socket, 'message'))[0])).toBe(word)
    }
    socket.close()
    await once(socket, 'close')
  })

  test('is refused with its reason when it cannot be reached', async () => {
    const refused = async (who: 'ada' | 'bob' | 'nobody', path: string) => {
      const { status, body } = await fleet.rest(who, path, {}, 1)
      return [status, (body as { detail: { msg: string; type: string }[] }).detail[0]!.type]
    }
    expect(await refused('bob', pathOf())).toEqual([404, 'unknown_container'])
    expect(await refused('nobody', pathOf())).toEqual([401, 'unauthorized'])
    expect(await refused('ada', pathOf({ uuid, port: 65_536 }))).toEqual([422, 'invalid'])
    expect(await refused('ada', pathOf({ uuid: 'zzzzz-dz642-000000000000zzz', port }))).toEqual([
      ...[404, 'unknown_container'],
    ])
    expect(await refused('ada', pathOf({ uuid, port: 1 }))).toEqual([502, 'unreachable'])
  })

  test('is read at the pace of its reader', async () => {
    const url = `${fleet.replicas[0]!.url}${pathOf()}/flood`
    const [answer] = (await once(get(url, { headers: headers() }), 'response')) as [IncomingMessage]
    answer.pause()
    const pid = fleet.replicas[0]!.pid
    const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
    const before = memory()
    await expect.poll(() => memory() - before, { timeout: 3000 }).toBeLessThan(64)
    let bytes = 0
    answer.on('data', chunk => {
      bytes += chunk.length
    })
    answer.resume()
    await expect.poll(() => bytes, patience).toBeGreaterThan(50_000_000)
    expect(memory() - before).toBeLessThan(150)
    answer.destroy()
  })
})

describe('skylab shell', () => {
  test('runs a command in the container by the system’s ssh, with its output, its input and its exit code', async () => {
    const asked = shellAt(1, 'cat; echo "run $SKYLAB_CONTAINER_RUN" >&2; exit 3')
    const run = await runShell({ ...asked, input: 'a\0b\n' })
    expect(run).toEqual({ code: 3, out: 'a\0b\n', err: expect.stringMatching(/^run \d+\n$/) })
  })

  test('has a terminal whose size changes with the client’s', async () => {
    const child = startShell({ ...shellAt(2), size: { rows: 33, columns: 101 } })
    let said = ''
    child.stdout.on('data', chunk => {
      said += chunk
    })
    child.stdin.write('trap "stty size" WINCH; stty size; echo ready""$((1+1))\n')
    await expect.poll(() => said, patience).toMatch(/33 101[\s\S]*ready2/)
    const { resize } = await import('../../../src/runner/engines/terminal.ts')
    resize(child.pid!, { rows: 50, columns: 60 })
    await expect.poll(() => said, patience).toContain('50 60')
    child.stdin.write('sh -c \'echo be""gun; sleep 1000\'\n')
    await expect.poll(() => said, patience).toContain('begun')
    // What is typed with it would be dropped with all that waits.
    child.stdin.write('\x03')
    await expect.poll(() => said, patience).toContain('^C')
    child.stdin.write('exit 7\n')
    expect((await once(child, 'exit'))[0]).toBe(7)
  })

  test('carries a port of the container by TCP', async () => {
    const own = 20_000 + Math.floor(Math.random() * 10_000)
    const asked = shellAt(0)
    const child = startShell({ ...asked, args: ['-N', '-L', `${own}:localhost:${port}`, uuid] })
    const answered = async () => (await fetch(`http://127.0.0.1:${own}/by/tcp`).catch(() => undefined))?.json()
    await expect.poll(answered, patience).toMatchObject({ path: '/by/tcp' })
    child.kill()
    await once(child, 'exit')
  })

  test('says why there is none, and leaves no secret on a command line', async () => {
    const asked = shellAt(1, 'true')
    const refused = await runShell({ ...asked, token: fleet.tokenOf('bob') })
    expect(refused).toMatchObject({
      code: 255,
      err: expect.stringContaining('404: there is no container of this uuid'),
    })
    const line = (await runShell(shellAt(1, 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "'))).out
    expect(line).toContain('ProxyCommand')
    for (const who of ['ada', 'admin'] as const) expect(line).not.toContain(fleet.tokenOf(who))
    for (const file of ['dispatch.token', 'management.token'])
      expect(line).not.toContain(readFileSync(join(fleet.stateDir, file), 'utf8'))
  })
})

test('a shell and a request go on when the keeper of their machine is killed', async () => {
  const keeper = (await fleet.keeper())!
  const at = fleet.replicas.findIndex(replica => replica !== keeper)
  const child = startShell(shellAt(at, 'while read line; do echo "heard $line"; done'))
  let heard = ''
  child.stdout.on('data', chunk => {
    heard += chunk
  })
  child.stdin.write('before\n')
  await expect.poll(() => heard, patience).toBe('heard before\n')
  const socket = new WebSocket(asSocket(`${fleet.replicas[at]!.url}${pathOf()}`), { headers: headers() })
  await once(socket, 'open')
  keeper.kill()
  await keeper.ended
  killed = keeper
  child.stdin.write('after\n')
  await expect.poll(() => heard, patience).toBe('heard before\nheard after\n')
  socket.send('after')
  expect(String((await once(socket, 'message'))[0])).toBe('after')
  // New ones too, before and after another replica keeps the machine.
  expect((await fleet.rest('ada', pathOf(), {}, at)).status).toBe(200)
  child.stdin.end()
  expect((await once(child, 'exit'))[0]).toBe(0)
  socket.close()
})

test('a port is reached again when the data of Redis were lost', async () => {
  const at = fleet.replicas.findIndex(replica => replica !== killed)
  const { gatewayAddress, gatewayPin } = await fleet.find(uuid)
  await fleet.client.flushall()
  await vi.waitFor(async () => expect(await fleet.find(uuid)).toMatchObject({ gatewayAddress, gatewayPin }), patience)
  expect((await fleet.rest('ada', pathOf(), {}, at)).status).toBe(200)
})

test('what is open is cut when its container ends, and nothing more opens', async () => {
  const made = await serving()
  const at = fleet.replicas.findIndex(replica => replica !== killed)
  const socket = new WebSocket(asSocket(`${fleet.replicas[at]!.url}${pathOf(made)}`), { headers: headers() })
  await once(socket, 'open')
  const child = startShell({ ...shellAt(at), args: [made.uuid, 'echo up; sleep 1000'] })
  await once(child.stdout, 'data')
  const cut = [once(socket, 'close'), once(child, 'exit')]
  expect((await fleet.rest('ada', `/dispatch/v1/containers/${made.uuid}`, { method: 'DELETE' }, at)).status).toBe(202)
  await Promise.all(cut)
  await expect.poll(async () => (await fleet.find(made.uuid)).state, patience).toBe('Cancelled')
  expect((await fleet.rest('ada', pathOf(made), {}, at)).status).toBe(410)
})
