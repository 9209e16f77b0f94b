/** The two ends of a tunnel, and those who stand between: all of them real TLS. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net'
import { connect, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../base/clock.ts'
import {
  answerProof,
  exporterBytes,
  exporterLabel,
  noContext,
  pinOf,
  proofHeader,
  requestProof,
  targetHeader,
  tunnelKey,
  tunnelProtocol,
} from '../dispatch/tunnel.ts'
import { makeCertificate } from '../runner/tunnel/certificate.ts'
import { Gateway } from '../runner/tunnel/gateway.ts'
import { reach } from '../runner/tunnel/reach.ts'
import { type Gateway as Dialed, dial } from './dial.ts'

const uuid = 'zzzzz-dz642-000000000000001'
const key = tunnelKey('the token of the installation, present', uuid, 7)
const other = tunnelKey('the token of the installation, present', uuid, 8)
const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

const portIn = (server: { address(): unknown }) => (server.address() as AddressInfo).port

/** A program in a container that says something first, and repeats what it hears. */
async function program(): Promise<number> {
  const server = createTcpServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => {})
    socket.write('hello ')
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.push(() => server.close())
  return portIn(server)
}

const engine = { reach: async (port: number) => ({ host: '127.0.0.1', port }) }
const noShell = () => Promise.reject(new Error('no shell here'))

async function gateway(): Promise<Dialed> {
  const made = new Gateway({ key, name: `${uuid}.7`, reach: port => reach(engine, port), shell: noShell })
  const { gatewayPort, gatewayPin } = await made.listen()
  ending.push(() => made.close())
  return { address: `127.0.0.1:${gatewayPort}`, pin: gatewayPin, keys: [key] }
}

const open = (to: Dialed, port: number, limitMs = 5000) => dial(to, { port }, { clock: systemClock, limitMs })

async function allOf(stream: Socket): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

describe('dial', () => {
  it('opens a stream to a port, and passes the end of one way on while the other goes on', async () => {
    const stream = await open(await gateway(), await program())
    stream.end('world')
    expect(await allOf(stream)).toBe('hello world')
  })

  it('opens a container that was started under an earlier token', async () => {
    const to = await gateway()
    const stream = await open({ ...to, keys: [other, key] }, await program())
    stream.end()
    expect(await allOf(stream)).toBe('hello ')
  })

  it('says in words of the machine that nothing listens on a port', async () => {
    const server = createTcpServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const port = portIn(server)
    await new Promise(resolve => server.close(resolve))
    const refused = open(await gateway(), port)
    await expect(refused).rejects.toMatchObject({ why: 'refused', message: `nothing listens on port ${port}` })
  })

  it('sends nothing to a gateway with another certificate', async () => {
    const to = await gateway()
    const false_ = makeCertificate('false')
    let heard = 0
    const server = createTlsServer({ key: false_.key, cert: false_.cert }, socket => {
      socket.on('error', () => {})
      socket.on('data', bytes => {
        heard += bytes.length
      })
    }).listen(0)
    await once(server, 'listening')
    ending.push(() => server.close())
    const failed = open({ ...to, address: `127.0.0.1:${portIn(server)}` }, 80)
    await expect(failed).rejects.toMatchObject({ why: 'stranger', message: /certificate/ })
    expect(heard).toBe(0)
  })

  it('is refused without the key of this very run', async () => {
    const to = await gateway()
    const failed = open({ ...to, keys: [other] }, await program())
    await expect(failed).rejects.toMatchObject({ why: 'stranger', message: 'it does not know the key of this run' })
  })

  it('gives up a gateway that says nothing', async () => {
    const server = createTcpServer(socket => void ending.push(() => socket.destroy())).listen(0)
    await once(server, 'listening')
    ending.push(() => server.close())
    const failed = open({ address: `127.0.0.1:${portIn(server)}`, pin: 'a'.repeat(64), keys: [key] }, 80, 200)
    await expect(failed).rejects.toMatchObject({ why: 'unreachable' })
  })
})

/** Answers as a gateway does that does not know the key, with what `answer` makes of a proof. */
async function falseGateway(answer: (proof: string, stream: TLSSocket) => string | Promise<string>): Promise<Dialed> {
  const made = makeCertificate('false')
  const server = createSecureServer({ key: made.key, cert: made.cert })
  server.on('upgrade', async (request, socket) => {
    socket.on('error', () => {})
    const proof = await answer(String(request.headers[proofHeader]), socket as TLSSocket)
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${tunnelProtocol}`]
    socket.write([...lines, `${proofHeader}: ${proof}`, '', ''].join('\r\n'))
  })
  server.listen(0)
  await once(server, 'listening')
  ending.push(() => server.close())
  return { address: `127.0.0.1:${portIn(server)}`, pin: pinOf(made.der), keys: [key] }
}

/** What the true gateway answers to this proof, over a connection of the middleman's own. */
async function relayed(
  { address }: Dialed,
  proof: string,
): Promise<{ readonly status: string; readonly proof: string }> {
  const stream = connect({ port: Number(address.split(':')[1]), rejectUnauthorized: false })
  ending.push(() => stream.destroy())
  await once(stream, 'secureConnect')
  const lines = ['GET / HTTP/1.1', 'Host: container', 'Connection: Upgrade', `Upgrade: ${tunnelProtocol}`]
  stream.write([...lines, `${proofHeader}: ${proof}`, `${targetHeader}: tcp 22`, '', ''].join('\r\n'))
  const [bytes] = (await once(stream, 'data')) as [Buffer]
  const text = String(bytes)
  return { status: text.split(' ')[1]!, proof: new RegExp(`${proofHeader}: (.*)\r\n`).exec(text)?.[1] ?? '' }
}

describe('a middleman whose certificate was pinned', () => {
  it('cannot relay: the true gateway refuses the proof, which is for another certificate', async () => {
    const to = await gateway()
    const answers: string[] = []
    const middleman = await falseGateway(async proof => {
      const answer = await relayed(to, proof)
      answers.push(answer.status)
      return answer.proof
    })
    await expect(open(middleman, 80)).rejects.toMatchObject({ why: 'stranger' })
    expect(answers).toEqual(['403'])
  })

  it.each([
    ['nothing', () => ''],
    ['the proof itself', (proof: string) => proof],
    ['an answer by the key of another run', (proof: string) => answerProof(other, proof)],
  ])('cannot answer with %s', async (_, answer) => {
    await expect(open(await falseGateway(answer), 80)).rejects.toMatchObject({ why: 'stranger' })
  })

  it('cannot replay an answer that was right before, even over the same certificate', async () => {
    let before: string | undefined
    const replaying = await falseGateway(proof => {
      before ??= answerProof(key, proof)
      return before
    })
    const first = await open(replaying, 80)
    first.destroy()
    await expect(open(replaying, 80)).rejects.toMatchObject({ why: 'stranger' })
  })
})

describe('a gateway', () => {
  it('refuses a proof of another connection to it', async () => {
    const to = await gateway()
    const stream = connect({ port: Number(to.address.split(':')[1]), rejectUnauthorized: false })
    ending.push(() => stream.destroy())
    await once(stream, 'secureConnect')
    const binding = stream.exportKeyingMaterial(exporterBytes, exporterLabel, noContext)
    const proof = requestProof(key, { certificate: stream.getPeerCertificate().raw, binding })
    expect((await relayed(to, proof)).status).toBe('403')
  })

  it.each([
    ['asks for no tunnel', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', '426'],
    ['shows no proof', `GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${tunnelProtocol}\r\n\r\n`, '403'],
  ])('refuses who %s', async (_, text, status) => {
    const to = await gateway()
    const stream = connect({ port: Number(to.address.split(':')[1]), rejectUnauthorized: false })
    ending.push(() => stream.destroy())
    await once(stream, 'secureConnect')
    stream.write(text)
    expect(String((await once(stream, 'data'))[0]).split(' ')[1]).toBe(status)
  })

  it('serves those with the key while strangers hold as many connections as they may', async () => {
    const to = await gateway()
    const port = Number(to.address.split(':')[1])
    const inside = await open(to, await program())
    const strangers = Array.from({ length: 64 }, () => connectTcp(port))
    for (const each of strangers) ending.push(() => each.destroy())
    await Promise.all(strangers.map(each => once(each, 'connect')))
    inside.end('goes on')
    expect(await allOf(inside)).toBe('hello goes on')
  })

  it('serves who comes with the key while strangers come as fast as they may', async () => {
    const to = await gateway()
    const port = Number(to.address.split(':')[1])
    const strangers = Array.from({ length: 64 }, () => connectTcp(port))
    for (const each of strangers) ending.push(() => each.on('error', () => {}).destroy())
    await Promise.all(strangers.map(each => once(each, 'connect')))
    const inside = await open(to, await program())
    inside.end('comes in')
    expect(await allOf(inside)).toBe('hello comes in')
  })

  it('asks the system whether a silent replica is still there', async () => {
    const to = await gateway()
    const inside = await open(to, await program())
    const port = Number(to.address.split(':')[1]).toString(16).toUpperCase()
    const tables = ['tcp', 'tcp6'].map(name => readFileSync(`/proc/self/net/${name}`, 'utf8')).join('\n')
    // Its own end, established, with the timer of keep-alive.
    expect(tables).toMatch(new RegExp(`[0-9A-F]+:${port} [0-9A-F]+:[0-9A-F]{4} 01 \\S+ 02:`))
    inside.destroy()
  })
})
