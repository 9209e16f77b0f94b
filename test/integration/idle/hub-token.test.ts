/** The token of a lab opens it to the probe, at real Hubs and with real kernels, and its use is no activity of the user. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createProgress } from '../../../dev/process/progress.ts'
import { openRun, type Run } from '../../../dev/run/run.ts'
import { hubVersions } from '../../../dev/setup/jupyterhub.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { probe } from '../../../src/idle/looks/probe.ts'
import { Jupyter, type Listed } from '../../kit/idle/jupyter.ts'
import { type LocalHub, type SingleUser, startLocalHub } from '../../kit/idle/single-user.ts'

let run: Run
/** By version: Hubs start at once. */
let hubs: ReadonlyMap<number, Promise<LocalHub>>

beforeAll(async () => {
  run = await openRun(createProgress())
  const { stateDir } = run
  hubs = new Map(hubVersions.map(version => [version, startLocalHub({ version, stateDir })]))
  await Promise.all(hubs.values())
})
afterAll(() => run?.close())

const { signal } = new AbortController()

/** One look, with the server's own token unless another is given. */
function look(server: SingleUser, credential: string | undefined = server.token, timeoutMs = 10_000) {
  return probe(systemClock, { ...server, credential }, { sources: ['kernels', 'terminals'], timeoutMs, signal })
}

describe.each(hubVersions)('JupyterHub %i', version => {
  let local: LocalHub
  let ada: SingleUser
  /** Its server is asked for the first time while the Hub is away. */
  let bob: SingleUser
  let narrow: SingleUser
  let jupyter: Jupyter

  beforeAll(async () => {
    local = await hubs.get(version)!
    const start = (username: string) => local.server(username)
    ;[ada, bob, narrow] = await Promise.all([start('ada'), start('bob'), start('narrow')])
    jupyter = new Jupyter(ada)
  })
  afterEach(() => jupyter.clean())

  test('the probe sees no activity when the server has neither kernel nor terminal', async () => {
    expect(await look(ada)).toMatchObject({ kind: 'seen', busy: false, ageMs: undefined })
  })

  test('the server denies an answer when the token is missing, wrong, or of another server', async () => {
    const tokens = ['', 'wrong', bob.token]
    const looks = await Promise.all(tokens.map(token => look(ada, token)))
    expect(looks.map(({ kind }) => kind)).toEqual(['denied', 'denied', 'denied'])
  })

  test('the server denies an answer when `server_token_scopes` has narrowed its token', async () => {
    expect(await look(narrow)).toMatchObject({ kind: 'denied' })
  })

  test('the server answers when it is asked by the address of a pod', async () => {
    const headers = { host: '10.77.0.8:8888', authorization: `token ${ada.token}` }
    const { address, port, prefix } = ada
    const { statusCode } = await request(`http://${address}:${port}${prefix}api/kernels`, { headers })
    expect(statusCode).toBe(200)
  })

  test('the probe sees work when the first cell of a kernel runs silently and nobody is connected', async () => {
    const kernel = await jupyter.startKernel()
    await jupyter.begin(kernel, 'import time; time.sleep(600)')
    expect(await jupyter.kernels()).toMatchObject([{ execution_state: 'busy', connections: 0 }])
    expect(await look(ada)).toMatchObject({ kind: 'seen', busy: true, source: 'kernels' })
  })

  test('the probe sees the age of the newest cell when all kernels are idle', async () => {
    const kernel = await jupyter.startKernel()
    await jupyter.run(kernel, 'print(1)')
    await jupyter.waitForKernel(kernel, 'idle')
    const seen = await look(ada)
    expect(seen).toMatchObject({ kind: 'seen', busy: false, source: 'kernels' })
    expect((seen as { ageMs: number }).ageMs).toBeLessThan(10_000)
  })

  test('the probe sees the output of a terminal, but no silent job, when nobody is connected', async () => {
    const terminal = await jupyter.openTerminal()
    await jupyter.type(terminal, 'echo $((6*7)); until [ -e ~/go ]; do sleep 0.1; done; echo later; sleep 600', '42')
    expect(await look(ada)).toMatchObject({ kind: 'seen', busy: false, source: 'terminals' })
    const goneMs = Date.now()
    await writeFile(join(ada.home, 'go'), '')
    await jupyter.waitForActivity('terminals', goneMs)
  })

  test('looks do not count as activity, neither of the server nor of its user', async () => {
    const ownActivity = async () => {
      const { last_activity } = (await (await jupyter.ask('api/status?no_track_activity=1')).json()) as Listed
      return last_activity
    }
    const [beganMs, before] = [Date.now(), await ownActivity()]
    for (let i = 0; i < 3; i++) await look(ada)
    expect(await ownActivity()).toBe(before)
    const { last_activity, servers } = await local.user('ada')
    for (const time of [last_activity, servers['']?.last_activity]) expect(Date.parse(time ?? '')).toBeLessThan(beganMs)
    // The control: the same request without the query.
    await jupyter.ask('api/kernels')
    expect(await ownActivity()).not.toBe(before)
  })

  test('the server is unreachable while the Hub is away, until the Hub has confirmed the token', async () => {
    await local.hub.kill()
    try {
      expect(await look(bob)).toMatchObject({ kind: 'unreachable' })
      expect(await look(bob, 'wrong')).toMatchObject({ kind: 'unreachable' })
    } finally {
      await local.hub.start()
    }
    expect(await look(bob)).toMatchObject({ kind: 'seen' })
    await local.hub.pause()
    try {
      expect(await look(bob)).toMatchObject({ kind: 'seen' })
      expect(await look(bob, 'unknown', 500)).toMatchObject({ kind: 'unreachable' })
    } finally {
      await local.hub.resume()
    }
  })
})
