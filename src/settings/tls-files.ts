/** Pairs of a certificate and its key. */
import type { Config } from '../config/schema.ts'
import { type Pair, readPair, type TlsFiles, UnusableFile } from '../tls/files.ts'
import type { FileReader } from './file-reader.ts'

export interface ApiTls {
  readonly files: TlsFiles
  readonly first: Pair
}

type NamedFiles = Pick<NonNullable<Config['api']['tls']>, keyof TlsFiles>

const tlsFilesOf = ({ certFile, keyFile, clientCaFile }: NamedFiles, reader: FileReader): TlsFiles => ({
  certFile: reader.path(certFile),
  keyFile: reader.path(keyFile),
  ...(clientCaFile !== undefined && { clientCaFile: reader.path(clientCaFile) }),
})

/** A pair that cannot be used is a problem. */
export async function readTls(
  block: string,
  named: NamedFiles,
  reader: FileReader,
  problems: string[],
): Promise<ApiTls | undefined> {
  const files = tlsFilesOf(named, reader)
  try {
    return { files, first: await readPair(files) }
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error
    problems.push(`${block}.${error.key}: ${error.message}`)
    return undefined
  }
}

/** A pair that cannot be used is no reason to serve no tenants: revocations need no webhook. */
export async function readWebhookFiles({ tenants: { webhooks } }: Config, reader: FileReader) {
  if (webhooks === undefined) return undefined
  const unusable: string[] = []
  await readTls('tenants.webhooks', webhooks, reader, unusable)
  return {
    files: tlsFilesOf(webhooks, reader),
    warnings: unusable.map(problem => `${problem}: webhooks are served once it can be used`),
  }
}
