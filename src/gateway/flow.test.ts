import { describe, expect, it } from 'vitest'
import { answering, countOf, useWires, type Wire, type Wires } from '../../test/kit/gateway/wires.ts'

const start = useWires()

const get = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n'
const post = 'POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx'
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const upgrade = 'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const size = 50_000_000
/** Buffers of the kernel take so much on two connections; without backpressure all 50 MB would be gone. */
const kernelBytes = 25_000_000

/** Resolves when a writer got no further for many turns of the event loop: its bytes wait for the reader. */
async function stuck(sent: () => number): Promise<number> {
  for (let before = -1, turns = 0; turns < 50; turns = sent() === before ? turns + 1 : 0) {
    before = sent()
    await new Promise(setImmediate)
  }
  return sent()
}

async function expectQuickNeighbour(wires: Wires): Promise<void> {
  const neighbour = await wires.client()
  neighbour.write(get)
  await neighbour.has('ok')
}

describe('backpressure', () => {
  it('stops the client when the app does not read', async () => {
    const paused = Promise.withResolvers<Wire>()
    const { wires, client } = await start(async (app, count) => {
      await app.has('\r\n\r\n')
      if (count > 1) return app.write(ok)
      app.forget()
      app.socket.pause()
      paused.resolve(app)
      await app.when(({ bytes }) => bytes > size)
      app.write(ok)
    })
    client.write(`POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`)
    const sent = client.pour(size)
    const app = await paused.promise
    expect(await stuck(sent)).toBeLessThan(kernelBytes)
    await expectQuickNeighbour(wires)
    app.socket.resume()
    await client.has('ok')
  })

  it.each([
    ['an answer', get, `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`],
    ['WebSocket', upgrade, switched],
  ])('stops the app when the client does not read %s, and delays nobody else', async (_, request, head) => {
    const poured = Promise.withResolvers<() => number>()
    const { wires, client } = await start(async (app, count) => {
      await app.has('\r\n\r\n')
      if (count > 1) return app.write(ok)
      app.write(head)
      poured.resolve(app.pour(size))
    })
    client.forget()
    client.socket.pause()
    client.write(request)
    expect(await stuck(await poured.promise)).toBeLessThan(kernelBytes)
    await expectQuickNeighbour(wires)
    client.socket.resume()
    await client.when(({ bytes }) => bytes > size)
  })

  it('stops the client of a WebSocket when the app does not read', async () => {
    const switching = Promise.withResolvers<Wire>()
    const { wires, client } = await start(async (app, count) => {
      await app.has('\r\n\r\n')
      if (count > 1) return app.write(ok)
      app.write(switched)
      app.forget()
      app.socket.pause()
      switching.resolve(app)
    })
    client.write(upgrade)
    await client.has('101')
    expect(await stuck(client.pour(size))).toBeLessThan(kernelBytes)
    await expectQuickNeighbour(wires)
    const app = await switching.promise
    app.socket.resume()
    await app.when(({ bytes }) => bytes > size)
  })
})

describe.concurrent('Pump.request', () => {
  it('cuts the app when the client leaves before the answer', async () => {
    const { wires, client } = await start(() => {})
    client.write(get)
    const app = await wires.app(1)
    await app.has('\r\n\r\n')
    client.socket.destroy()
    await app.over()
    await wires.when(({ endings }) => endings[0] === 'gone')
  })

  it('takes a client that ends its way for one that left', async () => {
    const { wires, client } = await start(() => {})
    client.write(get)
    const app = await wires.app(1)
    await app.has('\r\n\r\n')
    client.socket.end()
    await app.over()
    await wires.when(({ endings }) => endings[0] === 'gone')
  })

  it('cuts the app when the client leaves in the download', async () => {
    const { wires, client } = await start(answering('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc'))
    client.write(get)
    await client.has('abc')
    client.socket.destroy()
    await wires.apps[0]!.over()
    await wires.when(({ endings }) => endings[0] === 'gone')
  })

  it('is silent when no head comes in time', async () => {
    const { wires, client } = await start(() => {}, { limits: { headMs: 20 } })
    client.write(get)
    await client.has('HTTP/1.1 504 ')
    await (await wires.app(1)).over()
    expect(wires.endings).toEqual(['silent'])
  })

  it('is silent when no connection is free in time', async () => {
    // The first request must get its head in this time, however busy the machine is.
    const limits = { headMs: 1000, connections: 1 }
    const { wires, client } = await start(answering('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok'), { limits })
    client.write(get)
    await client.has('ok')
    const second = await wires.client()
    second.write(get)
    await second.has('HTTP/1.1 504 ')
    expect([wires.apps.length, client.isOver]).toEqual([1, false])
  })

  it('waits for a client that is slow to send, not for an app that is slow to answer', async () => {
    const { wires, client } = await start(
      async app => {
        await app.has('xx')
        app.write(ok)
      },
      { limits: { headMs: 500 } },
    )
    client.write('POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx')
    const app = await wires.app(1)
    await app.has('\r\n\r\nx')
    // Another request has been silent for as long.
    const other = await wires.client()
    other.write(get)
    await other.has('HTTP/1.1 504 ')
    client.write('x')
    await client.has('ok')
  })

  it('is silent when a client that is slow to send is never done', async () => {
    const { wires, client } = await start(() => {}, { limits: { headMs: 20, idleMs: 40 } })
    client.write('POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx')
    await client.has('HTTP/1.1 504 ')
    await (await wires.app(1)).over()
    expect(wires.endings).toEqual(['silent'])
  })

  it('cuts both when no byte of an answer comes for the limit', async () => {
    const { wires, client } = await start(answering('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok'), {
      limits: { idleMs: 20 },
    })
    client.write(get)
    await client.over()
    await wires.apps[0]!.over()
    expect(wires.endings).toEqual(['cut'])
  })

  it('repeats a GET once, on a new connection, when the app closes a kept one', async () => {
    const both = Promise.withResolvers<void>()
    const { wires, client } = await start(async (app, count) => {
      await app.has('\r\n\r\n')
      if (count === 2) both.resolve()
      await both.promise
      app.write(ok)
    })
    const second = await wires.client()
    client.write(get)
    second.write(get)
    await Promise.all([client.has('ok'), second.has('ok')])
    await wires.when(({ endings }) => endings.length === 2)
    // Both kept connections close at the sight of the next request.
    for (const { socket } of wires.apps) socket.removeAllListeners('data').once('data', () => socket.destroy())
    client.write(get)
    await client.when(({ text }) => countOf(text, 'HTTP/1.1') === 2)
    expect(client.text.endsWith('ok')).toBe(true)
    expect(wires.apps.length).toBe(3)
    expect(wires.apps.slice(0, 2).filter(({ isOver }) => isOver).length).toBe(1)
  })

  it('repeats no GET that a new connection refused', async () => {
    const { wires, client } = await start(app => void app.socket.once('data', () => app.socket.destroy()))
    client.write(get)
    await client.has('HTTP/1.1 502 ')
    expect(wires.apps.length).toBe(1)
  })

  it('gives a POST a connection of its own', async () => {
    const { wires, client } = await start(answering(ok))
    for (const [done, request] of [get, post, post, get].entries()) {
      client.write(request)
      await client.when(({ text }) => countOf(text, 'ok') === done + 1)
    }
    expect(wires.apps.map(({ text }) => countOf(text, 'HTTP/1.1'))).toEqual([2, 1, 1])
  })

  it('gives it one too when a request waits for a connection', async () => {
    const both = Promise.withResolvers<void>()
    const { wires, client } = await start(
      async app => {
        await app.has('\r\n\r\nx')
        await both.promise
        app.write(ok)
      },
      { limits: { connections: 1 } },
    )
    const second = await wires.client()
    let asked = 0
    wires.server.on('request', () => {
      asked += 1
      if (asked === 2) both.resolve()
    })
    client.write(post)
    second.write(post)
    await Promise.all([client.has('ok'), second.has('ok')])
    expect(wires.apps.map(({ text }) => countOf(text, 'HTTP/1.1'))).toEqual([1, 1])
  })

  it('keeps a free connection no longer than the limit', async () => {
    const { wires, client } = await start(answering(ok), { limits: { freeMs: 20 } })
    client.write(get)
    await client.has('ok')
    await wires.apps[0]!.over()
  })
})
