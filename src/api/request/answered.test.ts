import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { whenAnswered } from './answered.ts'

let server: Server
let client: Socket
/** What came, in the order of its coming. */
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

it('calls once when the answer is sent', async () => {
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

it('calls at once where it is over already', async () => {
  await send(1)
  outgoing[0]!.end()
  await once(outgoing[0]!, 'close')
  const calls: string[] = []
  whenAnswered(outgoing[0]!, () => calls.push('first'))
  expect(calls).toEqual(['first'])
})

it('calls for an answer that waited for the one before it, when their connection goes', async () => {
  await send(2)
  const calls: string[] = []
  const done = [over(outgoing[0]!, calls, 'first'), over(outgoing[1]!, calls, 'second')]
  // Begun, but not sent: the first has the connection.
  outgoing[1]!.write('later')
  expect(calls).toEqual([])
  client.destroy()
  await Promise.all(done)
  expect(calls.toSorted()).toEqual(['first', 'second'])
})
