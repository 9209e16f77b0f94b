import { describe, expect, it } from 'vitest'
import { countOf, useWires } from '../../test/kit/gateway/wires.ts'

const start = useWires()

const post = (headers: string, body = '') => `POST /p HTTP/1.1\r\nHost: a\r\n${headers}\r\n${body}`
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const no = 'HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno'

describe.concurrent('Pump.request with a body', () => {
  it.each([
    ['a length', 'Content-Length: 4\r\n', 'body'],
    ['chunks', 'Transfer-Encoding: chunked\r\n', '4\r\nbody\r\n0\r\n\r\n'],
    ['trailers', 'Trailer: X-T\r\nTransfer-Encoding: chunked\r\n', '4\r\nbody\r\n0\r\nX-T: 1\r\n\r\n'],
  ])('frames it by %s', async (_, headers, body) => {
    const { wires, client } = await start(async app => {
      await app.has(body)
      app.write(ok)
    })
    client.write(post(`X: \xe9\r\n${headers}`, body))
    await client.has('ok')
    expect(wires.apps[0]!.text).toBe(post(`X: \xe9\r\n${headers}Connection: close\r\n`, body))
  })

  it('passes the trailers on that the caller decided', async () => {
    const end = '4\r\nbody\r\n0\r\nX-T: 1\r\n\r\n'
    const { wires, client } = await start(
      async app => {
        await app.has('\r\n0\r\n')
        app.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${end}`)
      },
      { trailers: (of, trailers) => ['X-Was', `${of} ${trailers.join(' ')}`] },
    )
    client.write(post('Transfer-Encoding: chunked\r\n', end))
    await client.has('X-Was: answer X-T 1\r\n\r\n')
    expect(wires.apps[0]!.text).toContain('0\r\nX-Was: request X-T 1\r\n\r\n')
    expect(client.text).not.toContain('X-T: 1')
  })

  it('gives an app no second request out of a chunked DELETE', async () => {
    const { wires, client } = await start(async app => {
      await app.has('\r\n\r\n')
      await app.when(({ text }) => !text.includes('chunked') || text.includes('0\r\n\r\n'))
      app.write(ok)
    })
    const inner = 'GET /smuggled HTTP/1.1\r\nHost: \r\n'
    client.write(`DELETE /d HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n${inner}\r\n0\r\n\r\n`)
    await client.has('ok')
    client.write('GET /next HTTP/1.1\r\nHost: a\r\n\r\n')
    await client.when(({ text }) => countOf(text, 'ok') === 2)
    expect(wires.apps.map(app => app.text.split(' ', 2).join(' '))).toEqual(['DELETE /d', 'GET /next'])
    expect(wires.apps[0]!.text).toContain('Transfer-Encoding: chunked\r\n')
  })

  it('answers "unframed" for a coding that it cannot carry, and sends nothing', async () => {
    const { wires, client } = await start(() => {})
    client.write(post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'))
    await client.has('HTTP/1.1 501 ')
    expect([wires.endings, wires.apps.length]).toEqual([['unframed'], 0])
  })

  it('leaves it to the app whether it says 100 Continue', async () => {
    const { client } = await start(async app => {
      await app.has('Expect: 100-continue\r\n')
      app.write('HTTP/1.1 100 Continue\r\n\r\n')
      await app.has('body')
      app.write(ok)
    })
    client.write(post('Expect: 100-continue\r\nContent-Length: 4\r\n'))
    await client.has('100 Continue')
    client.write('body')
    await client.has('ok')
    expect(countOf(client.text, '100 Continue')).toBe(1)
  })

  it('says no 100 Continue when the app refuses the body', async () => {
    const { client } = await start(async app => {
      await app.has('\r\n\r\n')
      app.write(no)
    })
    client.write(post('Expect: 100-continue\r\nContent-Length: 4\r\n'))
    await client.has('no')
    expect(client.text.startsWith('HTTP/1.1 401 ')).toBe(true)
  })

  it('sends its head before the body, takes the rest after an early answer, and serves the next', async () => {
    const { wires, client } = await start(async (app, count) => {
      await app.has('\r\n\r\n')
      app.write(count === 1 ? no : ok)
    })
    client.write(post('Content-Length: 5000000\r\n'))
    await client.has('no')
    client.write(`${'x'.repeat(5_000_000)}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`)
    await client.has('ok')
    const first = wires.apps[0]!
    await first.over()
    expect(first.bytes).toBeLessThan(1_000_000)
    expect(wires.endings).toEqual(['done', 'done'])
  })

  it('cuts a client that goes on too long after its answer', async () => {
    const limits = { lingerMs: 20 }
    const { client } = await start(
      async app => {
        await app.has('\r\n\r\n')
        app.write(no)
      },
      { limits },
    )
    client.write(post('Content-Length: 5\r\n'))
    await client.has('no')
    await client.over()
  })

  it('cuts the app when the client leaves in the upload', async () => {
    const { wires, client } = await start(() => {})
    client.write(post('Content-Length: 1000\r\n', 'abc'))
    const app = await wires.app(1)
    await app.has('abc')
    client.socket.destroy()
    await app.over()
    await wires.when(({ endings }) => endings[0] === 'gone')
  })

  it('refuses when the app is reset in the upload, and serves the next on the same connection', async () => {
    const { wires, client } = await start(async (app, count) => {
      await app.has('\r\n\r\n')
      if (count === 1) app.socket.resetAndDestroy()
      else app.write(ok)
    })
    client.write(post('Content-Length: 5000000\r\n', 'a'))
    await client.has('HTTP/1.1 502 ')
    client.write(`${'b'.repeat(4_999_999)}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`)
    await client.has('ok')
    expect(wires.endings).toEqual(['refused', 'done'])
  })
})
