import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { collectGarbage } from '../../test/kit/garbage.ts'
import { Connections, type ConnectionsOptions } from './connections.ts'

const ending: (() => void)[] = []
afterAll(() => {
  for (const end of ending) end()
})

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** An app that answers nothing by itself, and connections to it. */
async function start(options: Partial<ConnectionsOptions> = {}) {
  const clock = new ManualClock()
  const connections = new Connections({ most: 8, silentMs: 10_000, freeMs: 1500, clock, ...options })
  const apps: Socket[] = []
  const came: (() => void)[] = []
  const server = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => {})
    apps.push(socket)
    for (const wake of came.splice(0)) wake()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  ending.push(() => {
    connections.close()
    for (const socket of apps) socket.destroy()
    server.close()
  })
  /** Resolves with the app's side of this connection, from 1. */
  const app = async (count: number) => {
    while (apps.length < count) await new Promise<void>(resolve => came.push(resolve))
    return apps[count - 1]!
  }
  const ask = (more: { connect?(): Promise<Socket> } = {}) => {
    const asked = request({ path: '/', setHost: false, agent: connections.to('127.0.0.1', port), ...more })
    asked.on('error', () => {})
    asked.end()
    return asked
  }
  return { clock, connections, port, apps, app, ask }
}

type Started = Awaited<ReturnType<typeof start>>

/** Resolves when the request has its answer, and Node has let go of its connection. */
async function answered(asked: ClientRequest, app: Socket, bytes = ok): Promise<void> {
  const closed = once(asked, 'close')
  asked.on('response', answer => answer.resume())
  app.write(bytes)
  await closed
}

/** One request that is over, and the connection that it has left. */
async function afterOne(options: Partial<ConnectionsOptions> = {}, bytes = ok): Promise<Started & { first: Socket }> {
  const started = await start(options)
  const asked = started.ask()
  const first = await started.app(1)
  await once(first, 'data')
  await answered(asked, first, bytes)
  return { ...started, first }
}

describe.concurrent('Connections', () => {
  it('gives a free one to the next request', async () => {
    const { ask, first, apps } = await afterOne()
    const asked = ask()
    await once(first, 'data')
    await answered(asked, first)
    expect([apps.length, asked.reusedSocket]).toEqual([1, true])
  })

  it('keeps nothing of a request when it keeps its connection', { timeout: 20_000 }, async () => {
    // It must not be closed meanwhile, which would let go of all.
    const { ask, app } = await start({ silentMs: 600_000 })
    // In a function of its own, so that nothing else has the request.
    const last = await (async () => {
      const asked = ask()
      const first = await app(1)
      await once(first, 'data')
      await answered(asked, first)
      return new WeakRef(asked)
    })()
    const isGone = async () => {
      await collectGarbage()
      return last.deref() === undefined
    }
    await expect.poll(isGone, { timeout: 10_000 }).toBe(true)
    expect(ask().reusedSocket).toBe(true)
  })

  it('gives none that was free for too long, also when no look has closed it', async () => {
    const { clock, ask, app, apps, first } = await afterOne()
    first.resume()
    const over = once(first, 'end')
    // No timer has run yet, as when this process was halted.
    clock.advance(1500)
    const asked = ask()
    await over
    await answered(asked, await app(2))
    expect([apps.length, asked.reusedSocket]).toEqual([2, false])
  })

  it('closes one that was free for too long', async () => {
    const { clock, first } = await afterOne()
    first.resume()
    const over = once(first, 'end')
    clock.advance(2000)
    await over
  })

  it.each([
    ['keeps one for less than the app says that it does', 'timeout=2', 999, true],
    ['keeps one for less than the app says that it does', 'timeout=2', 1000, false],
    ['keeps none that the app says to close in a second', 'timeout=1, max=9', 0, false],
  ])('%s: %s after %i ms', async (_, hint, ms, isReused) => {
    const bytes = ok.replace('\r\n\r\n', `\r\nKEEP-alive: ${hint}\r\n\r\n`)
    const { clock, ask } = await afterOne({}, bytes)
    clock.advance(ms)
    expect(ask().reusedSocket).toBe(isReused)
  })

  it('closes a free one that sends bytes nobody asked for', async () => {
    const { ask, app, first } = await afterOne()
    first.resume()
    const over = once(first, 'close')
    first.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged')
    first.on('end', () => first.end())
    await over
    const asked = ask()
    const answer = once(asked, 'response')
    const second = await app(2)
    second.write(ok)
    const [{ headers }] = await answer
    expect([asked.reusedSocket, headers['content-length']]).toEqual([false, '2'])
  })

  it('closes a free one that sends such bytes when its last answer was paused', async () => {
    const { ask, app } = await start()
    const asked = ask()
    const first = await app(1)
    first.resume()
    const over = once(first, 'end')
    asked.on('response', answer => answer.once('end', () => asked.socket!.pause()))
    await answered(asked, first)
    first.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged')
    await over
  })

  it('gives none on which bytes wait for a reader to a request that waits', async () => {
    const { ask, app } = await start({ most: 1 })
    const [one, two] = [ask(), ask()]
    const first = await app(1)
    const forged = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged')
    one!.on('response', answer => {
      answer.once('end', () => {
        one!.socket!.pause()
        one!.socket!.unshift(forged)
      })
    })
    const answer = once(two!, 'response')
    await answered(one!, first)
    const second = await app(2)
    second.write(ok)
    expect((await answer)[0].headers['content-length']).toBe('2')
  })

  it('fails requests that wait for a connection when it is closed', async () => {
    const { ask, app, apps, connections } = await start({ most: 1 })
    const [, two] = [ask(), ask()]
    await app(1)
    const failed = once(two!, 'error')
    connections.close()
    expect([(await failed)[0].message, apps.length]).toEqual(['connections to apps are closed', 1])
  })

  it('keeps none where it has no time for it', async () => {
    const started = await start()
    const single = new Connections({ most: 8, silentMs: 10_000, clock: started.clock })
    ending.push(() => single.close())
    const asked = request({ path: '/', setHost: false, agent: single.to('127.0.0.1', started.port) })
    asked.end()
    const first = await started.app(1)
    first.resume()
    const over = once(first, 'end')
    await answered(asked, first)
    await over
  })

  it('lets requests wait in turn beyond the bound, and forgets those that were given up', async () => {
    const { ask, app, apps } = await start({ most: 1 })
    const [one, two, three] = [ask(), ask(), ask()]
    const first = await app(1)
    await once(first, 'data')
    two!.destroy()
    await answered(one!, first)
    await once(first, 'data')
    await answered(three!, first)
    expect([apps.length, three!.reusedSocket]).toEqual([1, true])
  })

  it('keeps none that the app has half closed, also one that may stay so', async () => {
    const { ask, app, port } = await start()
    const dial = async () => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      await once(socket, 'connect')
      return socket
    }
    const asked = ask({ connect: dial })
    const first = await app(1)
    await once(first, 'data')
    first.end(ok)
    const [answer] = await once(asked, 'response')
    const ended = once(answer.socket, 'end')
    answer.resume()
    await ended
    await new Promise(setImmediate)
    const next = ask({ connect: dial })
    const second = await app(2)
    await once(second, 'data')
    await answered(next, second)
    expect(next.reusedSocket).toBe(false)
  })

  it('keeps no crowd of requests that were given up while they waited', async () => {
    const { ask, app, connections, port } = await start({ most: 1 })
    ask()
    await once(await app(1), 'data')
    for (let left = 1000; left > 0; left--) ask().destroy()
    const { waiting } = connections.to('127.0.0.1', port) as unknown as { readonly waiting: number }
    expect(waiting).toBeLessThanOrEqual(64)
  })

  it('connects for the next one when a connection ends', async () => {
    const { ask, app } = await start({ most: 1 })
    const [one, two] = [ask(), ask()]
    const first = await app(1)
    one!.destroy()
    first.destroy()
    const second = await app(2)
    await once(second, 'data')
    await answered(two!, second)
  })

  it('connects for the next one when a connection is refused', async () => {
    const { ask, app, port } = await start({ most: 1 })
    const refused = async () => {
      throw new Error('nobody is there')
    }
    const one = ask({ connect: refused })
    const failed = once(one, 'error')
    const two = ask({ connect: async () => connect({ port, host: '127.0.0.1' }) })
    expect((await failed)[0].message).toBe('nobody is there')
    await answered(two, await app(1))
  })

  it('tells a request of silence, and again where it waits on', async () => {
    const { ask, app } = await start({ silentMs: 10 })
    const asked = ask()
    await app(1)
    await once(asked, 'timeout')
    asked.socket!.setTimeout(10)
    await once(asked, 'timeout')
  })

  it('leaves a connection of another protocol alone', async () => {
    const { ask, app, connections } = await start()
    const asked = ask()
    const left = once(asked, 'upgrade')
    const first = await app(1)
    first.write('HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    const [, socket] = (await left) as [unknown, Socket]
    connections.close()
    const echoed = once(socket, 'data')
    first.write('later')
    expect(String((await echoed)[0])).toBe('later')
    expect(['timeout', 'free', 'agentRemove'].map(event => socket.listenerCount(event))).toEqual([0, 0, 0])
    socket.destroy()
  })
})
