import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { whenAnswered } from './answered.ts'

let server: Server
let client: Socket
/** Requests in the order of their arrival. */
let outgoing: ServerResponse[]

beforeEach(async () => {
  outgoing = []
  server = createServer((_, response) => {
    outgoing.push(response)
    server.emit('came')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  await once(client, 'connect')
})
afterEach(() => {
  client.destroy()
  server.closeAllConnections()
  server.close()
})

async function send(count: number): Promise<void> {
  client.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n'.repeat(count))
  while (outgoing.length < count) await once(server, 'came')
}

/** Resolves when the answer is over; `calls` counts. */
function over(response: ServerResponse, calls: string[], name: string): Promise<void> {
  return new Promise(resolve => {
    whenAnswered(response, () => {
      calls.push(name)
      resolve()
    })
  })
}

it('whenAnswered calls once when the answer is sent', async () => {
  await send(1)
  const calls: string[] = []
  const done = over(outgoing[0]!, calls, 'first')
  expect(calls).toEqual([])
  outgoing[0]!.end('well')
  await done
  const gone = new Promise(resolve => outgoing[0]!.req.socket.once('close', resolve))
  client.destroy()
  await gone
  expect(calls).toEqual(['first'])
})

it('whenAnswered calls at once when it is already over', async () => {
  await send(1)
  outgoing[0]!.end()
  await once(outgoing[0]!, 'close')
  const calls: string[] = []
  whenAnswered(outgoing[0]!, () => calls.push('first'))
  expect(calls).toEqual(['first'])
})

it('whenAnswered calls for a waiting answer when its connection is closed', async () => {
  await send(2)
  const calls: string[] = []
  const done = [over(outgoing[0]!, calls, 'first'), over(outgoing[1]!, calls, 'second')]
  // Begun, but not sent: the connection belongs to the first.
  outgoing[1]!.write('later')
  expect(calls).toEqual([])
  client.destroy()
  await Promise.all(done)
  expect(calls.toSorted()).toEqual(['first', 'second'])
})
