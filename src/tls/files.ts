/** A server's certificate and key, as they are read from files. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'

/** Full paths. */
export interface TlsFiles {
  /** PEM: the certificate, then those between it and its authority. */
  readonly certFile: string
  readonly keyFile: string
  /** PEM: the authorities that vouch for clients. */
  readonly clientCaFile?: string | undefined
}

/** What was read, and fits together. */
export interface Pair {
  readonly cert: string
  readonly key: string
  readonly clientCa: string | undefined
  readonly expiresMs: number
}

/** Files that cannot be used: the key of the first one, and words without anything that stands in it. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile'
  readonly key: keyof TlsFiles

  constructor(key: keyof TlsFiles, words: string) {
    super(words)
    this.key = key
  }
}

/** @throws {UnusableFile} */
export async function readPair(files: TlsFiles): Promise<Pair> {
  const { clientCaFile } = files
  const cert = await textOf('certFile', files.certFile)
  const key = await textOf('keyFile', files.keyFile)
  const clientCa = clientCaFile === undefined ? undefined : await textOf('clientCaFile', clientCaFile)
  const certificate = certificateOf('certFile', cert)
  const isTheirs = attempt('keyFile', 'the file has no private key in PEM without a passphrase', () =>
    certificate.checkPrivateKey(createPrivateKey(key)),
  )
  if (!isTheirs) throw new UnusableFile('keyFile', 'the key is not that of the certificate')
  if (clientCa !== undefined) certificateOf('clientCaFile', clientCa)
  attempt('certFile', 'the certificate and its key cannot be used by a server', () =>
    createSecureContext({ cert, key, minVersion: 'TLSv1.2', ...(clientCa !== undefined && { ca: clientCa }) }),
  )
  return { cert, key, clientCa, expiresMs: certificate.validToDate.getTime() }
}

async function textOf(key: keyof TlsFiles, path: string): Promise<string> {
  return readFile(path, 'utf8').catch(error => {
    throw new UnusableFile(key, `the file ${path} cannot be read (${error.code})`)
  })
}

function certificateOf(key: keyof TlsFiles, pem: string): X509Certificate {
  return attempt(key, 'the file has no certificate in PEM', () => new X509Certificate(pem))
}

/** The library's own words may quote what it could not read. */
function attempt<T>(key: keyof TlsFiles, words: string, work: () => T): T {
  try {
    return work()
  } catch {
    throw new UnusableFile(key, words)
  }
}
