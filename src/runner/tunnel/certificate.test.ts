import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { expect, it } from 'vitest'
import { makeCertificate } from './certificate.ts'

it('makeCertificate makes what OpenSSL reads, verifies by its own key, and takes with its private key', () => {
  const made = makeCertificate('zzzzz-dz642-000000000000001.12')
  const read = new X509Certificate(made.cert)
  expect(read.raw).toEqual(made.der)
  expect(read.subject).toBe('CN=zzzzz-dz642-000000000000001.12')
  expect(read.verify(read.publicKey)).toBe(true)
  expect(read.checkPrivateKey(createPrivateKey(made.key))).toBe(true)
  expect([read.validFrom, read.validTo]).toEqual(['Jan  1 00:00:00 1970 GMT', 'Dec 31 23:59:59 9999 GMT'])
})

it('makeCertificate makes another key and number each time', () => {
  const [one, other] = [makeCertificate('a'), makeCertificate('a')]
  expect(one.key).not.toBe(other.key)
  expect(new X509Certificate(one.cert).serialNumber).not.toBe(new X509Certificate(other.cert).serialNumber)
})

it('makeCertificate makes what TLS takes, whatever the length of its name', () => {
  for (let length = 1; length <= 64; length++) {
    const { key, cert } = makeCertificate('a'.repeat(length))
    expect(() => createSecureContext({ key, cert })).not.toThrow()
  }
})
