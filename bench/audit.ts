/** The API server's audit log as the truth about requests: who sent which, by User-Agent. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

export interface AuditedRequest {
  readonly verb: string
  readonly resource: string
  readonly namespace: string
  readonly code: number
  /** Of the operation in the User-Agent; undefined for watches and compares. */
  readonly op: number | undefined
}

interface AuditLine {
  readonly stage?: string
  readonly verb?: string
  readonly userAgent?: string
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly subresource?: string }
  readonly responseStatus?: { readonly code?: number }
}

/** Requests of the controller, from the file's byte `from` on. */
export async function controllerRequests(file: string, from: number): Promise<AuditedRequest[]> {
  const requests: AuditedRequest[] = []
  for await (const line of createInterface({ input: createReadStream(file, { start: from }) })) {
    const entry = JSON.parse(line) as AuditLine
    if (entry.stage !== 'ResponseComplete' || !entry.userAgent?.startsWith('skylab/')) continue
    const op = /\bop=(\d+)/.exec(entry.userAgent)?.[1]
    requests.push({
      verb: entry.verb ?? '',
      resource: entry.objectRef?.resource ?? '',
      namespace: entry.objectRef?.namespace ?? '',
      code: entry.responseStatus?.code ?? 0,
      op: op === undefined ? undefined : Number(op),
    })
  }
  return requests
}
