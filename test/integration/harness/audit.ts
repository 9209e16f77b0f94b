/** The API server's audit log: the truth about who wrote what. */
import { createReadStream, statSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** One request that was answered. */
export interface AuditedRequest {
  readonly verb: string
  readonly resource: string
  readonly subresource: string
  /** Of a Namespace: its own name. */
  readonly namespace: string
  readonly name: string
  readonly code: number
  /** Of the ServiceAccount, or whoever else sent it. */
  readonly sender: string
  readonly userAgent: string
  /** From the controller's User-Agent; undefined for watches, compares and strangers. */
  readonly op: number | undefined
  readonly claim: number | undefined
  readonly replica: string | undefined
  /** When it came and when its answer was complete, wall clock, by the API server. */
  readonly receivedAtMs: number
  readonly completedAtMs: number
}

interface AuditLine {
  readonly stage: string
  readonly verb: string
  readonly userAgent?: string
  readonly user?: { readonly username?: string }
  readonly objectRef?: {
    readonly resource?: string
    readonly subresource?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code?: number }
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
}

const writes = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

export class AuditLog {
  readonly #file: string | null
  readonly #from: number

  /** Sees what is written from now on. `file` is null on a cluster whose log we cannot read. */
  constructor(file: string | null) {
    this.#file = file
    this.#from = file === null ? 0 : statSync(file).size
  }

  /**
   * The controller's requests that concern a namespace, or all namespaces of a prefix; in the order of their arrival.
   * A line is there before its answer, so nothing that a client has seen the effect of is missing.
   */
  async requestsOf(prefix: string): Promise<AuditedRequest[]> {
    const concerns = (namespace: string) => namespace === prefix || namespace.startsWith(`${prefix}-`)
    const all = await this.all()
    return all.filter(({ namespace, userAgent }) => concerns(namespace) && userAgent.startsWith('skylab/'))
  }

  /** Of those, the writes: verbs that change something. */
  async writesOf(prefix: string): Promise<AuditedRequest[]> {
    return (await this.requestsOf(prefix)).filter(({ verb }) => writes.has(verb))
  }

  /** Every answered request of everyone. */
  async all(): Promise<AuditedRequest[]> {
    if (this.#file === null) throw new Error('this cluster has no audit log that can be read')
    const requests: AuditedRequest[] = []
    for await (const line of createInterface({ input: createReadStream(this.#file, { start: this.#from }) })) {
      const entry = parseLine(line)
      if (entry?.stage === 'ResponseComplete') requests.push(requestOf(entry))
    }
    return requests.sort((a, b) => a.receivedAtMs - b.receivedAtMs)
  }
}

/** The last line may be half written. */
function parseLine(line: string): AuditLine | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function requestOf(line: AuditLine): AuditedRequest {
  const { resource = '', subresource = '', name = '', namespace = '' } = line.objectRef ?? {}
  const { userAgent = '' } = line
  return {
    verb: line.verb,
    resource,
    subresource,
    name,
    namespace: resource === 'namespaces' ? name : namespace,
    code: line.responseStatus?.code ?? 0,
    sender: line.user?.username ?? '',
    userAgent,
    op: numberOf(/\bop=(\d+)/.exec(userAgent)?.[1]),
    claim: numberOf(/\bclaim=(\d+)/.exec(userAgent)?.[1]),
    replica: /\breplica=(\S+)/.exec(userAgent)?.[1],
    receivedAtMs: Date.parse(line.requestReceivedTimestamp),
    completedAtMs: Date.parse(line.stageTimestamp),
  }
}

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text))
