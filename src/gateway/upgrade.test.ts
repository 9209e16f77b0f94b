import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { collectGarbage } from '../../test/kit/garbage.ts'
import { answering, countOf, patientLimits, type Script, useWires } from '../../test/kit/gateway/wires.ts'
import { Pump } from './pump.ts'

const start = useWires()

const ask = (headers = '') =>
  `GET /ws HTTP/1.1\r\nHost: a\r\n${headers}Sec-WebSocket-Key: k\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
const switched =
  'HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: y\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const echo: Script = async app => {
  await app.has('\r\n\r\n')
  app.write(`${switched}hello`)
  app.socket.on('data', bytes => app.socket.write(bytes))
}

describe.concurrent('Pump.upgrade', () => {
  it('carries bytes both ways, those beside the heads too, and none before the 101', async () => {
    const { wires, client } = await start(async app => {
      await app.has('\r\n\r\n')
      expect(app.text).toBe(ask())
      app.write(`${switched}early-answer`)
      await app.has('later')
      app.write('last')
    })
    client.write(`${ask()}early`)
    await client.has('early-answer')
    client.write('later')
    await client.has('last')
    expect(wires.apps[0]!.text).toBe(`${ask()}earlylater`)
    expect(client.text).toBe(`${switched}early-answerlast`)
  })

  it('keeps nothing of the request to the app when the protocol has changed', { timeout: 20_000 }, async () => {
    const asked: WeakRef<ClientRequest>[] = []
    const onRequest = (message: unknown) => {
      const { request } = message as { readonly request: ClientRequest }
      if (request.path === '/kept') asked.push(new WeakRef(request))
    }
    subscribe('http.client.request.start', onRequest)
    const { client } = await start(echo)
    client.write(ask().replace('/ws', '/kept'))
    await client.has('hello')
    unsubscribe('http.client.request.start', onRequest)
    const kept = async () => {
      await collectGarbage()
      return asked.map(request => request.deref() !== undefined)
    }
    await expect.poll(kept, { timeout: 10_000 }).toEqual([false])
    client.write('still open')
    await client.has('still open')
  })

  it.each([
    ['a length', '200 OK\r\nContent-Length: 2\r\n', 'ok', 'ok'],
    ['chunks', '200 OK\r\nTransfer-Encoding: chunked\r\n', '2\r\nok\r\n0\r\n\r\n', '2\r\nok\r\n0\r\n\r\n'],
    ['no body', '401 Unauthorized\r\nContent-Length: 0\r\n', '', ''],
    ['a redirect', '302 Found\r\nLocation: /l\r\nContent-Length: 0\r\n', '', ''],
    ['204', '204 No Content\r\n', '', ''],
  ])('frames an answer that is %s, and closes', async (_, head, body, framed) => {
    const { wires, client } = await start(answering(`HTTP/1.1 ${head}\r\n${body}`))
    client.write(ask())
    await client.over()
    expect(client.text.startsWith(`HTTP/1.1 ${head.split('\r\n')[0]}\r\n`)).toBe(true)
    expect(client.text.endsWith(`\r\n\r\n${framed}`)).toBe(true)
    expect(countOf(client.text, 'Connection: close\r\n')).toBe(1)
    await wires.when(({ endings }) => endings[0] === 'done')
    await wires.apps[0]!.over()
  })

  it('frames an answer by chunks when the app ends it by closing', async () => {
    const { client } = await start(
      answering('HTTP/1.1 403 No\r\nConnection: close\r\n\r\nsorry', app => app.socket.end()),
    )
    client.write(ask())
    await client.over()
    expect(client.text.endsWith('5\r\nsorry\r\n0\r\n\r\n')).toBe(true)
  })

  it('forges no end when the app ends in the body of its refusal', async () => {
    const { wires, client } = await start(
      answering('HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nsorry\r\n', app => app.socket.end()),
    )
    client.write(ask())
    await client.over()
    expect([client.text.endsWith('0\r\n\r\n'), wires.endings]).toEqual([false, ['cut']])
  })

  it('gives an app that refuses none of the bytes after the head', async () => {
    const { wires, client } = await start(answering('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno'))
    client.write(`${ask()}GET /admin HTTP/1.1\r\nHost: a\r\n\r\n`)
    await client.over()
    expect([client.text.endsWith('no'), wires.apps.map(({ text }) => text)]).toEqual([true, [ask()]])
  })

  it.each([
    ['another protocol', 'HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'],
    ['no protocol', 'HTTP/1.1 101 S\r\n\r\n'],
    ['no HTTP', 'SSH-2.0\r\n'],
  ])('refuses when the app changes to %s', async (_, answer) => {
    const { wires, client } = await start(answering(answer))
    client.write(ask())
    await client.has('HTTP/1.1 502 ')
    await wires.apps[0]!.over()
    expect(wires.endings).toEqual(['refused'])
  })

  it('sends nothing of a request that has a body', async () => {
    const { wires, client } = await start(echo)
    client.write(`${ask('Content-Length: 4\r\n')}body`)
    await client.has('HTTP/1.1 501 ')
    expect(wires.apps.length).toBe(0)
  })

  it('passes the end of one way on, and carries the other way further', async () => {
    const { wires, client } = await start(async app => {
      await app.has('\r\n\r\n')
      app.write(switched)
      await app.when(({ hasEnded }) => hasEnded)
      app.socket.end('after the end')
    })
    client.write(ask())
    await client.has('101')
    client.socket.end('last')
    await client.has('after the end')
    await wires.when(({ endings }) => endings[0] === 'done')
    expect(wires.apps[0]!.text.endsWith('last')).toBe(true)
  })

  it('carries what the client still writes when the app has ended its way', async () => {
    const { wires, client } = await start(async app => {
      await app.has('\r\n\r\n')
      app.socket.end(`${switched}bye`)
    })
    client.write(ask())
    await client.when(({ hasEnded }) => hasEnded)
    client.socket.end('last')
    await wires.apps[0]!.has('last')
    expect(client.text.endsWith('bye')).toBe(true)
    await wires.when(({ endings }) => endings[0] === 'done')
  })

  it('carries the bytes beside the heads no sooner than their gate lets them pass', async () => {
    const looked = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    let looks = 0
    let isShut = false
    const look = () => {
      looks += 1
      if (looks === 2) asked.resolve()
      return looked.promise
    }
    const gate = { mayPass: () => !isShut, look, isOpen: () => true }
    const answer = (_: number, headers: readonly string[]) => {
      isShut = true
      return headers
    }
    const { wires, client } = await start(
      async app => {
        await app.has('\r\n\r\n')
        app.write(`${switched}early-answer`)
        await app.has('early-question')
        app.write('last')
      },
      { gate, answer },
    )
    client.write(`${ask()}early-question`)
    await asked.promise
    await client.has('\r\n\r\n')
    expect([client.text, wires.apps[0]!.text]).toEqual([switched, ask()])
    isShut = false
    looked.resolve()
    await client.has('early-answerlast')
    expect(wires.apps[0]!.text).toBe(`${ask()}early-question`)
  })

  it('loses nothing when both have ended while the last bytes wait for their gate', async () => {
    const looked = Promise.withResolvers<void>()
    let isShut = false
    const gate = { mayPass: () => !isShut, look: () => looked.promise, isOpen: () => true }
    const { wires, client } = await start(
      async app => {
        await app.has('\r\n\r\n')
        app.socket.end(switched)
      },
      { gate },
    )
    const ended = new Promise(resolve => {
      wires.server.once('upgrade', (_, socket) => socket.once('close', resolve))
    })
    client.write(ask())
    await client.when(({ hasEnded }) => hasEnded)
    isShut = true
    client.socket.end('last')
    await ended
    isShut = false
    looked.resolve()
    await wires.apps[0]!.over()
    expect(wires.apps[0]!.text).toBe(`${ask()}last`)
    await wires.when(({ endings }) => endings[0] === 'done')
  })

  it('loses nothing when both have ended and the client is slow', async () => {
    const size = 5_000_000
    const { wires, client } = await start(async app => {
      await app.has('\r\n\r\n')
      app.write(switched)
      await app.when(({ hasEnded }) => hasEnded)
      app.socket.end(Buffer.alloc(size))
    })
    client.socket.end(ask())
    client.forget()
    await client.over()
    expect(client.bytes).toBe(switched.length + size)
    await wires.when(({ endings }) => endings[0] === 'done')
  })

  it('survives a client that is reset before the answer', async () => {
    const { wires, client } = await start(async app => {
      await app.has('\r\n\r\n')
      client.socket.resetAndDestroy()
      await client.over()
      app.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
      app.pour(100_000)
    })
    client.write(ask())
    await wires.when(({ endings }) => endings[0] === 'gone')
  })

  it('cuts the app when the client is reset', async () => {
    const { wires, client } = await start(echo)
    client.write(ask())
    await client.has('hello')
    client.socket.resetAndDestroy()
    await wires.apps[0]!.over()
    await wires.when(({ endings }) => endings[0] === 'gone')
  })

  it('cuts the client when the app is reset', async () => {
    const { wires, client } = await start(echo)
    client.write(ask())
    await client.has('hello')
    wires.apps[0]!.socket.resetAndDestroy()
    await client.over()
    await wires.when(({ endings }) => endings[0] === 'cut')
  })

  it('ends both when no byte comes for the limit', async () => {
    const { wires, client } = await start(echo, { limits: { idleMs: 20 } })
    client.write(ask())
    await client.over()
    await wires.apps[0]!.over()
    expect(client.text).toContain('hello')
  })

  it('leaves the time-out of the server behind', async () => {
    const { wires } = await start(echo)
    const timedOut = new Promise(resolve => {
      wires.server.setTimeout(60_000, socket => socket.destroy())
      // Not from the start: on a busy machine the upgrade may come later than any short time.
      wires.server.once('upgrade', (_, socket) => (socket as Socket).setTimeout(20).once('timeout', resolve))
    })
    const client = await wires.client()
    client.write(ask())
    await timedOut
    client.write('still')
    await client.when(({ text, isOver }) => isOver || text.endsWith('still'))
    expect(client.isOver).toBe(false)
  })

  it('opens no connection when an earlier answer still has the socket', async () => {
    const { wires, client } = await start(() => {})
    const upgraded = Promise.withResolvers<[IncomingMessage, Socket]>()
    wires.server.removeAllListeners('upgrade')
    wires.server.once('upgrade', (incoming, socket) => upgraded.resolve([incoming, socket as Socket]))
    client.write(`GET /slow HTTP/1.1\r\nHost: a\r\n\r\n${ask()}`)
    const [incoming, socket] = await upgraded.promise
    const to = { host: '127.0.0.1', port: wires.appPort, path: '/ws', headers: ['Host', 'a'] }
    const upgrade = new Pump(patientLimits).upgrade(incoming, socket, Buffer.alloc(0), to)
    await expect(upgrade).rejects.toMatchObject({ code: 'ERR_HTTP_SOCKET_ASSIGNED' })
    const last = connect({ port: wires.appPort, host: '127.0.0.1' })
    await once(last, 'connect')
    // The first is that of the slow request.
    const { socket: second } = await wires.app(2)
    expect(second.remotePort).toBe(last.localPort)
    last.destroy()
  })

  it('is silent when no head comes in time', async () => {
    const { wires, client } = await start(() => {}, { limits: { headMs: 20 } })
    client.write(ask())
    await client.has('HTTP/1.1 504 ')
    await (await wires.app(1)).over()
  })
})
