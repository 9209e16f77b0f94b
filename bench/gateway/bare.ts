/**
 * The floor for the gateway, a process of its own: `node:http` on both sides and nothing between them. It judges nobody, changes
 * no header, has no bound and no time-out, and cuts nothing. So what the gateway costs beyond this is its own.
 */
import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tuneHeap } from '../../src/run/gateway/heap.ts'
import { answerQuestions } from '../measure/worker.ts'

export interface Before {
  /** Of the app. */
  readonly port: number
  readonly connections: number
}

tuneHeap()
answerQuestions(async ({ port, connections }: Before) => {
  const agent = new Agent({
    ...{ keepAlive: true, maxSockets: connections, maxFreeSockets: connections, scheduling: 'lifo' },
  })
  const carry = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { url: path, method, rawHeaders, headers } = incoming
    const to = { host: '127.0.0.1', port, path, method, headers: rawHeaders, setHost: false, agent }
    const upstream = request(to, answer => {
      outgoing.writeHead(answer.statusCode!, answer.statusMessage, answer.rawHeaders)
      answer.pipe(outgoing)
    })
    upstream.on('error', () => outgoing.destroy())
    if (headers['content-length'] === undefined) upstream.end()
    else incoming.pipe(upstream)
  }
  const server = createServer(carry)
  server.on('upgrade', (incoming, client, early) => {
    const { url: path, rawHeaders: headers } = incoming
    const upstream = request({ host: '127.0.0.1', port, path, headers, setHost: false, agent: false })
    upstream.on('upgrade', (answer, app, first) => {
      const lines = answer.rawHeaders.flatMap((name, i, all) => (i % 2 === 0 ? [`${name}: ${all[i + 1]}`] : []))
      client.write(['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n'), 'latin1')
      if (first.length > 0) client.write(first)
      if (early.length > 0) app.write(early)
      client.on('error', () => app.destroy())
      app.on('error', () => client.destroy())
      client.pipe(app).pipe(client)
    })
    upstream.on('error', () => client.destroy())
    upstream.end()
  })
  server.listen({ port: 0, host: '127.0.0.1', backlog: 65_535 })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
})
