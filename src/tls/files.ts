/** Reads a server's certificate and key from files. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'

/** Absolute paths. */
export interface TlsFiles {
  /** PEM: the certificate, then intermediate ones. */
  readonly certFile: string
  readonly keyFile: string
  /** PEM: the authorities that vouch for clients. */
  readonly clientCaFile?: string | undefined
}

/** A certificate and its key, which fit together. */
export interface Pair {
  readonly cert: string
  readonly key: string
  readonly clientCa: string | undefined
  readonly expiresMs: number
}

/** Files that cannot be used: the key of the first one, and a reason without anything of its contents. */
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
  if (!isTheirs) throw new UnusableFile('keyFile', 'the key does not belong to the certificate')
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

/** The library's own message may quote the contents. */
function attempt<T>(key: keyof TlsFiles, words: string, work: () => T): T {
  try {
    return work()
  } catch {
    throw new UnusableFile(key, words)
  }
}
