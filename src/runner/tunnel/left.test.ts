/** Clients that leave before their stream to the container is there. */
import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import ssh2 from 'ssh2'
import { afterEach, expect, it } from 'vitest'
import { Shell } from './shell.ts'
import { splice } from './splice.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

/** Both ends of a connection. */
async function pair(): Promise<readonly [Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const here = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [there] = (await once(server, 'connection')) as [Socket]
  ending.push(() => [here, there].map(each => each.destroy()) && server.close())
  return [here, there]
}

const closed = (socket: Socket) => new Promise(resolve => socket.once('close', resolve))

it('a splice ends one stream when the other is gone already', async () => {
  const [[here], [inContainer]] = [await pair(), await pair()]
  here.destroy()
  await closed(here)
  splice(here, inContainer)
  await closed(inContainer)
  expect(inContainer.destroyed).toBe(true)
})

it('a shell leaves no connection to the container when its client leaves while that is made', async () => {
  const [here, there] = await pair()
  const [inContainer] = await pair()
  const [asked, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<Socket>()]
  const reach = () => {
    asked.resolve()
    return reached.promise
  }
  new Shell({ inside: () => expect.unreachable(), reach }).serve(there)
  const headers = { Connection: 'Upgrade', Upgrade: 'ssh', 'Content-Length': '0' }
  const upgraded = once(request({ createConnection: () => here, method: 'POST', headers }).end(), 'upgrade')
  const [, sock, head] = (await upgraded) as [unknown, Socket, Buffer]
  if (head.length > 0) sock.unshift(head)
  const client = new ssh2.Client().on('error', () => {})
  client.connect({ sock, username: 'container' })
  await once(client, 'ready')
  client.forwardOut('localhost', 1, 'localhost', 80, () => {})
  await asked.promise
  client.destroy()
  await closed(there)
  reached.resolve(inContainer)
  await closed(inContainer)
  expect(inContainer.destroyed).toBe(true)
})
