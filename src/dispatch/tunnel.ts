/**
 * The words between a replica and the gateway of a running container, over TLS. Each side proves that it has the key of this run,
 * for this certificate and this very connection: a relay has another certificate, and a recorded proof cannot be used again.
 * Pure.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { keyFor } from './tags.ts'

/** The protocol that a replica asks for. */
export const tunnelProtocol = 'skylab-tunnel'
/** Headers of the request and of the answer, in lower case. */
export const proofHeader = 'skylab-tunnel-proof'
export const targetHeader = 'skylab-tunnel-target'

/** The label of a connection's keying material, which nobody between can choose (RFC 8446, 7.5). */
export const exporterLabel = 'EXPORTER-skylab-tunnel'
export const exporterBytes = 32
export const noContext = Buffer.alloc(0)

/** As many as an installation has tokens. */
export const mostProofs = 16

/** Where ports for gateways are: those that Linux gives out by itself, for which operators open their networks. */
export const gatewayPorts = { first: 32_768, last: 60_999 } as const

/** A shell, or a port of the container. */
export type TunnelTarget = 'ssh' | { readonly port: number }

/** Binds proofs to one connection. */
export interface TunnelSession {
  /** The gateway's certificate, as DER. */
  readonly certificate: Buffer
  /** Exported keying material. */
  readonly binding: Buffer
}

/** The key of one run, in hex: the machine of another run has another one. */
export const tunnelKey = (token: string, uuid: string, run: number): string =>
  createHmac('sha256', keyFor(token, 'tunnel')).update(`${uuid}.${run}`).digest('hex')

/** The proof of the replica. */
export const requestProof = (key: string, { certificate, binding }: TunnelSession): string =>
  mac(key, 'request', Buffer.concat([createHash('sha256').update(certificate).digest(), binding]))

/** The gateway's answer to a proof. */
export const answerProof = (key: string, proof: string): string => mac(key, 'answer', Buffer.from(proof))

const mac = (key: string, use: string, bytes: Buffer): string =>
  createHmac('sha256', Buffer.from(key, 'hex')).update(`skylab tunnel ${use}\0`).update(bytes).digest('hex')

/** By which a certificate is pinned. */
export const pinOf = (certificate: Buffer): string => createHash('sha256').update(certificate).digest('hex')

export const isPin = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/** Compares proofs in a time that says nothing of where they differ. */
export function isSameProof(one: string, other: string): boolean {
  const [a, b] = [one, other].map(text => createHash('sha256').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(a, b)
}

export const formatTarget = (target: TunnelTarget): string => (target === 'ssh' ? target : `tcp ${target.port}`)

/** @returns undefined for what is no target */
export function parseTarget(text: string): TunnelTarget | undefined {
  if (text === 'ssh') return text
  const port = portOf(/^tcp (.*)$/.exec(text)?.[1] ?? '')
  return port === undefined ? undefined : { port }
}

/** @returns undefined for what is not the number of a port, in its one form */
export function portOf(text: string): number | undefined {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Number.NaN
  return port <= 65_535 ? port : undefined
}
