/** A person's SSH client, by the tunnel of a run. */
import { once } from 'node:events'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import ssh2 from 'ssh2'
import { systemClock } from '../../../src/base/clock.ts'
import { dial, type Gateway } from '../../../src/tunnel/dial.ts'

/** An SSH client in the container. */
export async function shellAt(gateway: Gateway): Promise<ssh2.Client> {
  const stream = await dial(gateway, 'ssh', { clock: systemClock, limitMs: 20_000 })
  const headers = { Connection: 'Upgrade', Upgrade: 'ssh', 'Content-Length': '0' }
  const asked = request({ createConnection: () => stream, method: 'POST', headers }).end()
  const [, socket] = (await once(asked, 'upgrade')) as [unknown, Socket]
  const client = new ssh2.Client()
  client.on('error', () => {})
  client.connect({ sock: socket, username: 'container' })
  await once(client, 'ready')
  return client
}

export const exec = (client: ssh2.Client, command: string): Promise<ssh2.ClientChannel> =>
  new Promise((resolve, reject) => client.exec(command, (error, channel) => (error ? reject(error) : resolve(channel))))

export const forward = (client: ssh2.Client, host: string, port: number): Promise<ssh2.ClientChannel> =>
  new Promise((resolve, reject) =>
    client.forwardOut('localhost', 1, host, port, (error, channel) => (error ? reject(error) : resolve(channel))),
  )
