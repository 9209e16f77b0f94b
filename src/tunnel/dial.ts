/** Opens a stream to a running container: TLS to its gateway, whose certificate is pinned, and proofs of the run's key both ways. */
import { type IncomingMessage, request } from 'node:http'
import { connect, type TLSSocket } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import {
  answerProof,
  exporterBytes,
  exporterLabel,
  formatTarget,
  isSameProof,
  noContext,
  pinOf,
  proofHeader,
  requestProof,
  type TunnelTarget,
  targetHeader,
  tunnelProtocol,
} from '../dispatch/tunnel.ts'

/**
 * Why there is no stream:
 * - `unreachable`: nothing answers there in time
 * - `stranger`: it is not the gateway of this run: its certificate or its proof is another
 * - `refused`: the gateway has refused; the words are the machine's
 */
export class TunnelFailed extends Error {
  override readonly name = 'TunnelFailed'
  readonly why: 'unreachable' | 'stranger' | 'refused'

  constructor(why: TunnelFailed['why'], message: string) {
    super(message)
    this.why = why
  }
}

export interface Gateway {
  /** `host:port` */
  readonly address: string
  /** SHA-256 of its certificate, in hex. */
  readonly pin: string
  /** Of this run, by the present token and by those before: it was started under one of them. */
  readonly keys: readonly string[]
}

export interface DialOptions {
  readonly clock: Pick<Clock, 'after'>
  /** For all of it. */
  readonly limitMs: number
}

/** Of the machine's words. */
const longestWords = 500

/** @throws {TunnelFailed} */
export async function dial(gateway: Gateway, target: TunnelTarget, options: DialOptions): Promise<TLSSocket> {
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(gateway.address) ?? []
  const stream = connect({
    ...{ host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port), allowHalfOpen: true },
    // It is compared with its pin below, before anything is sent.
    ...{ rejectUnauthorized: false, minVersion: 'TLSv1.3' as const },
  })
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {})
  stream.on('error', error => failure.reject(new TunnelFailed('unreachable', error.message)))
  stream.on('close', () => failure.reject(new TunnelFailed('unreachable', 'the connection was closed')))
  const late = new TunnelFailed('unreachable', `no answer within ${options.limitMs} ms`)
  const cancel = options.clock.after(options.limitMs, () => failure.reject(late))
  try {
    return await Promise.race([enter(stream, gateway, target), failure.promise])
  } catch (error) {
    stream.destroy()
    throw error
  } finally {
    cancel()
  }
}

async function enter(stream: TLSSocket, { pin, keys }: Gateway, target: TunnelTarget): Promise<TLSSocket> {
  await new Promise(resolve => stream.once('secureConnect', resolve))
  const certificate = stream.getPeerCertificate().raw
  if (certificate === undefined || !isSameProof(pinOf(certificate), pin))
    throw new TunnelFailed('stranger', 'its certificate is not the one that its machine reported')
  const binding = stream.exportKeyingMaterial(exporterBytes, exporterLabel, noContext)
  const proofs = keys.map(key => requestProof(key, { certificate, binding }))
  const answers = keys.map((key, index) => answerProof(key, proofs[index]!))
  const { answer, head } = await ask(stream, {
    ...{ Connection: 'Upgrade', Upgrade: tunnelProtocol, Host: 'container' },
    ...{ [proofHeader]: proofs.join(','), [targetHeader]: formatTarget(target) },
  })
  const shown = String(answer.headers[proofHeader] ?? '')
  if (!answers.map(each => isSameProof(shown, each)).includes(true))
    throw new TunnelFailed('stranger', 'it does not know the key of this run')
  if (answer.statusCode !== 101) throw new TunnelFailed('refused', await words(answer))
  if (head.length > 0) stream.unshift(head)
  return stream
}

interface Answered {
  readonly answer: IncomingMessage
  /** What came with the head. */
  readonly head: Buffer
}

const ask = (stream: TLSSocket, headers: Record<string, string>): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const asked = request({ createConnection: () => stream, headers, path: '/', setHost: false })
    asked.on('upgrade', (answer, _, head) => resolve({ answer, head }))
    asked.on('response', answer => resolve({ answer, head: Buffer.alloc(0) }))
    asked.on('error', error => reject(new TunnelFailed('unreachable', error.message)))
    asked.end()
  })

/** In one line of ASCII: they are the machine's. */
async function words(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer) {
    text += String(chunk)
    if (text.length > longestWords) break
  }
  return (
    text
      .slice(0, longestWords)
      .replace(/[^\x20-\x7e]+/g, ' ')
      .trim() || 'it gives no reason'
  )
}
