/**
 * Makes a self-signed certificate (RFC 5280), which Node reads but cannot make. Nobody trusts it by its names: it is pinned. A
 * library would be larger than the rest of the runner, for one certificate of one form.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface OwnCertificate {
  /** PEM. */
  readonly key: string
  readonly cert: string
  readonly der: Buffer
}

const tag = { boolean: 1, integer: 2, bits: 3, octets: 4, oid: 6, text: 12, time: 24, sequence: 48, set: 49 } as const

/** One value of DER. */
function der(kind: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  if (body.length < 128) return Buffer.concat([Buffer.from([kind, body.length]), body])
  const length = Buffer.from(body.length.toString(16).padStart(4, '0'), 'hex')
  return Buffer.concat([Buffer.from([kind, 0x80 | length.length]), length, body])
}

const oid = (hex: string) => der(tag.oid, Buffer.from(hex, 'hex'))
const commonName = oid('550403')
const ecdsaWithSha256 = der(tag.sequence, oid('2a8648ce3d040302'))
const bits = (bytes: Buffer) => der(tag.bits, Buffer.from([0]), bytes)

const nameOf = (name: string) =>
  der(tag.sequence, der(tag.set, der(tag.sequence, commonName, der(tag.text, Buffer.from(name)))))

/** Clocks of machines may be wrong, and nobody compares: from 1970 to the last day that there is. */
const validity = der(
  tag.sequence,
  ...['19700101000000Z', '99991231235959Z'].map(time => der(tag.time, Buffer.from(time))),
)

/** @param name at most 64 bytes */
export function makeCertificate(name: string): OwnCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const serial = randomBytes(16)
  // A positive number, in its shortest form.
  serial[0] = (serial[0]! & 0x3f) | 0x40
  const subject = nameOf(name)
  const version3 = der(0xa0, der(tag.integer, Buffer.from([2])))
  const keyInfo = publicKey.export({ type: 'spki', format: 'der' })
  const toSign = der(
    tag.sequence,
    ...[version3, der(tag.integer, serial), ecdsaWithSha256, subject, validity, subject, keyInfo],
  )
  const whole = der(tag.sequence, toSign, ecdsaWithSha256, bits(sign('sha256', toSign, privateKey)))
  const text = whole
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`,
    der: whole,
  }
}
