/** Ways to an app: straight, through a pump in this process, and through a gateway. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Pump } from '../../../../src/gateway/pump.ts'
import type { PumpLimits } from '../../../../src/gateway/terms.ts'
import type { Way } from './carry.ts'

const upgrade = (number: number) =>
  `GET /frames/${number} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`

export const directWay = (port: number): Way => ({ port, upgrade })

const limits: PumpLimits = {
  ...{ headMs: 60_000, idleMs: 60_000, freeMs: 60_000, lingerMs: 60_000, connections: 64 },
}

/** @param lines of a head that lead to the app, with `Host` */
export const gatewayWay = (port: number, prefix: string, lines: readonly string[]): Way => ({
  port,
  upgrade: number =>
    [
      ...[`GET ${prefix}/frames/${number} HTTP/1.1`, ...lines, 'Connection: Upgrade', 'Upgrade: websocket'],
      ...['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13', '', ''],
    ].join('\r\n'),
})

export interface OpenWay extends Way {
  stop(): void
}

/** @param port of the app */
export async function pumpWay(port: number): Promise<OpenWay> {
  const pump = new Pump(limits)
  const server = createServer()
  server.on('upgrade', (incoming, socket, head) => {
    const to = { host: '127.0.0.1', port, path: incoming.url!, headers: incoming.rawHeaders }
    void pump.upgrade(incoming, socket as Socket, head, to).then(ending => {
      if (ending === 'refused') socket.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    pump.close()
    server.close()
    server.closeAllConnections()
  }
  return { port: (server.address() as AddressInfo).port, upgrade, stop }
}
