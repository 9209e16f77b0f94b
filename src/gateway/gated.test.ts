import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { answering, type Script, useWires, type Wire, type Wires } from '../../test/kit/gateway/wires.ts'
import type { Gate } from './relay.ts'

const start = useWires()

interface Ends {
  readonly wires: Wires
  readonly client: Wire
}

const get = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n'
const upgrade = 'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

/** A gate that is shut once its request has been sent, and the exchange that waits before it. */
async function waiting(script: Script, request = get) {
  const looked = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const state = { isShut: false, isGone: false }
  const gate: Gate = {
    mayPass: () => !state.isShut && !state.isGone,
    isOpen: () => !state.isGone,
    look: () => {
      asked.resolve()
      return looked.promise
    },
  }
  const { wires, client } = await start(
    async (app, count) => {
      await app.has('\r\n\r\n')
      state.isShut = true
      await script(app, count)
    },
    { gate },
  )
  let socket: Socket | undefined
  for (const event of ['request', 'upgrade']) wires.server.once(event, incoming => (socket = incoming.socket))
  client.write(request)
  await asked.promise
  // Bytes that do not wait would be here by then.
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  const open = () => {
    state.isShut = false
    looked.resolve()
  }
  /** As a revocation cuts it. */
  const cut = () => {
    state.isGone = true
    looked.resolve()
    socket!.destroy()
  }
  return { wires, client, open, cut }
}

describe.concurrent('the gate of an exchange', () => {
  it.each([
    ['an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', get, /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nok$/],
    ['an answer without a body', 'HTTP/1.1 204 No Content\r\n\r\n', get, /^HTTP\/1\.1 204 /],
    ['another protocol', `${switched}early`, upgrade, /^HTTP\/1\.1 101 [\s\S]*\r\n\r\nearly$/],
    ['a refused upgrade', 'HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n', upgrade, /^HTTP\/1\.1 401 No/],
  ])('holds the head of %s back until it opens', async (_, answer, request, whole) => {
    const { client, open } = await waiting(app => void app.write(answer), request)
    expect(client.text).toBe('')
    open()
    await client.when(({ text }) => whole.test(text))
  })

  it('lets no informational answer wait, and none pass that would', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
    const { client, open } = await waiting(app => {
      app.write(`${hints}HTTP/1.1 204 No Content\r\n\r\n`)
    })
    open()
    await client.has('204')
    expect(client.text).not.toContain('103')
  })

  it.each([
    ['an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', get],
    ['another protocol', `${switched}early`, upgrade],
  ])('passes nothing of %s that was cut meanwhile', async (_, answer, request) => {
    const { wires, client, cut } = await waiting(app => void app.write(answer), request)
    cut()
    await wires.when(({ endings }) => endings.length === 1)
    await wires.apps[0]!.when(({ isOver }) => isOver)
    expect([client.text, wires.endings]).toEqual(['', ['gone']])
  })

  it.each([
    ['an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok', get],
    ['another protocol', switched, upgrade],
  ])('leaves %s to the caller whose app ends before it opens', async (_, answer, request) => {
    const { wires, client } = await waiting(app => void app.write(answer), request)
    wires.apps[0]!.socket.resetAndDestroy()
    await client.has('HTTP/1.1 502 ')
    expect(wires.endings).toEqual(['refused'])
  })
})

describe.concurrent('a head that goes before its body', () => {
  const post = 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n'
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

  it.each([
    // One question is that of the request.
    ['an answer', get, 2, ({ client }: Ends) => client],
    ['a request', post, 1, ({ wires }: Ends) => wires.apps[0]!],
  ])('waits when the process was halted after the verdict on %s', async (_, request, most, endOf) => {
    const looked = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const state = { passes: 0, isOpen: false }
    const gate: Gate = {
      mayPass: () => state.isOpen || ++state.passes <= most,
      isOpen: () => true,
      look: () => {
        asked.resolve()
        return looked.promise
      },
    }
    const { wires, client } = await start(app => void (request === get && app.write(head)), { gate })
    client.write(request)
    const end = (await wires.app(1)) && endOf({ wires, client })
    await Promise.race([asked.promise, end.has('HTTP/1.1')])
    expect(end.text).toBe('')
    state.isOpen = true
    looked.resolve()
    await end.has('\r\n\r\n')
  })
})

it('an answer that came as a whole costs one write, with its trailers', async () => {
  const { client } = await start(answering('HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 2\r\n\r\nok'))
  const chunks: string[] = []
  client.socket.on('data', chunk => chunks.push(String(chunk)))
  client.write(get)
  await client.has('\r\n\r\nok')
  expect(chunks).toHaveLength(1)
})
