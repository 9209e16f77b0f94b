/** Reads requests from the API server's audit log, by User-Agent. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

export interface AuditedRequest {
  readonly verb: string
  readonly resource: string
  readonly namespace: string
  readonly code: number
  /** The operation in the User-Agent; undefined for watches and compares. */
  readonly op: number | undefined
  /** Nothing was stored. */
  readonly dryRun: boolean
}

interface AuditLine {
  readonly stage?: string
  readonly verb?: string
  readonly requestURI?: string
  readonly userAgent?: string
  readonly user?: { readonly username?: string }
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly subresource?: string }
  readonly responseStatus?: { readonly code?: number }
}

/** Requests of the controller, from byte `from` of the file. */
export async function controllerRequests(file: string, from: number): Promise<AuditedRequest[]> {
  const requests: AuditedRequest[] = []
  for await (const entry of completed(file, from)) {
    if (!entry.userAgent?.startsWith('skylab/')) continue
    const op = /\bop=(\d+)/.exec(entry.userAgent)?.[1]
    requests.push({
      verb: entry.verb ?? '',
      resource: entry.objectRef?.resource ?? '',
      namespace: entry.objectRef?.namespace ?? '',
      code: entry.responseStatus?.code ?? 0,
      op: op === undefined ? undefined : Number(op),
      dryRun: /[?&]dryRun=All\b/.test(entry.requestURI ?? ''),
    })
  }
  return requests
}

/** Writes by programs whose User-Agent begins so, from byte `from` of the file: of the objects of a resource, and of their status. */
export async function writesTo(
  resource: string,
  agent: string,
  file: string,
  from: number,
): Promise<{ objects: number; status: number }> {
  const writes = { objects: 0, status: 0 }
  for await (const { verb, userAgent, objectRef } of completed(file, from)) {
    const isWrite = verb === 'update' || verb === 'patch'
    if (!isWrite || objectRef?.resource !== resource || !userAgent?.startsWith(agent)) continue
    writes[objectRef.subresource === 'status' ? 'status' : 'objects'] += 1
  }
  return writes
}

/** Number of objects that an account has created, from byte `from` of the file. */
export async function createdBy(username: string, file: string, from: number): Promise<number> {
  let count = 0
  for await (const { verb, user, responseStatus } of completed(file, from)) {
    if (verb === 'create' && user?.username === username && responseStatus?.code === 201) count += 1
  }
  return count
}

async function* completed(file: string, from: number): AsyncGenerator<AuditLine> {
  for await (const line of createInterface({ input: createReadStream(file, { start: from }) })) {
    const entry = JSON.parse(line) as AuditLine
    if (entry.stage === 'ResponseComplete') yield entry
  }
}
