/** The API server's audit log: the authority on who wrote what. */
import { createReadStream, statSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { labels } from '../../../src/kube/labels.ts'

/** One answered request. */
export interface AuditedRequest {
  readonly verb: string
  readonly resource: string
  readonly subresource: string
  /** For a Namespace: its own name. */
  readonly namespace: string
  readonly name: string
  readonly code: number
  /** The reason of a refusal. */
  readonly message: string
  /** The ServiceAccount or other user that sent it. */
  readonly sender: string
  readonly userAgent: string
  /** From the controller's User-Agent; undefined for watches, compares and other clients. */
  readonly op: number | undefined
  readonly claim: number | undefined
  readonly replica: string | undefined
  /** A dry run. */
  readonly dryRun: boolean
  /** Arrival and end of the answer: wall clock of the API server. */
  readonly receivedAtMs: number
  readonly completedAtMs: number
}

/** The log's part about one fleet. */
export interface AuditOfFleet {
  /** Requests of all clients about its namespaces and their objects, in the order of the answers. */
  readonly requests: readonly AuditedRequest[]
  /** Number of open watches by replica and resource, of those that select by the installation's label. */
  readonly watches: readonly { readonly replica: string; readonly resource: string; readonly count: number }[]
}

interface AuditLine {
  readonly auditID: string
  readonly requestURI: string
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
  readonly responseStatus?: { readonly code?: number; readonly message?: string }
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
}

const unreadable = 'this cluster has no audit log that can be read'
const newline = '\n'.charCodeAt(0)
const writes = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

/** Whether k8s/base/policy.yaml refused the request. */
export const isPolicyRefusal = ({ code, message }: AuditedRequest): boolean =>
  code === 403 && /ValidatingAdmissionPolicy 'skylab(-labs)?'/.test(message)

const byArrival = (a: AuditedRequest, b: AuditedRequest) => a.receivedAtMs - b.receivedAtMs

export class AuditLog {
  readonly #file: string | null
  readonly #from: number
  readonly #answered: AnsweredRequests | undefined

  /** Reads lines written from now on. `file` is null on a cluster whose log is not readable. */
  constructor(file: string | null) {
    this.#file = file
    this.#from = file === null ? 0 : statSync(file).size
    this.#answered = file === null ? undefined : AnsweredRequests.of(file, this.#from)
  }

  /**
   * The controller's requests about a namespace, or about all namespaces of a prefix, in the order of arrival. The API
   * server writes a line before it answers, so every request with an effect that a client saw is included.
   */
  async requestsOf(prefix: string): Promise<AuditedRequest[]> {
    const concerns = (namespace: string) => namespace === prefix || namespace.startsWith(`${prefix}-`)
    const ours = await this.#select(
      ({ namespace, userAgent }) => concerns(namespace) && userAgent.startsWith('skylab/'),
    )
    return ours.sort(byArrival)
  }

  /** The writes among them. */
  async writesOf(prefix: string): Promise<AuditedRequest[]> {
    return (await this.requestsOf(prefix)).filter(({ verb }) => writes.has(verb))
  }

  /** The raw text, including addresses. */
  async text(): Promise<string> {
    if (this.#file === null) return ''
    return (await readFile(this.#file)).subarray(this.#from).toString()
  }

  /** Every answered request of all clients. */
  async all(): Promise<AuditedRequest[]> {
    return (await this.#select(() => true)).sort(byArrival)
  }

  /** Everything that a judge needs, in one pass. */
  async ofFleet(of: { readonly namespacePrefix: string; readonly installation: string }): Promise<AuditOfFleet> {
    const requests: AuditedRequest[] = []
    const open = new Map<string, AuditedRequest>()
    const isOurs = ({ namespace }: AuditedRequest) => namespace.startsWith(`${of.namespacePrefix}-`)
    const labelled = encodeURIComponent(`${labels.installation}=${of.installation}`)
    const mentions = [`${of.namespacePrefix}-`, of.installation]
    for await (const entry of this.#lines(line => mentions.some(mention => line.includes(mention)))) {
      const request = requestOf(entry)
      if (request.verb === 'watch' && entry.requestURI.includes(labelled) && request.replica !== undefined) {
        if (entry.stage === 'ResponseStarted') open.set(entry.auditID, request)
        else open.delete(entry.auditID)
      } else if (entry.stage === 'ResponseComplete' && isOurs(request)) requests.push(request)
    }
    const groups = Map.groupBy(open.values(), ({ replica, resource }) => `${replica} ${resource}`)
    return {
      requests: requests.sort((a, b) => a.completedAtMs - b.completedAtMs),
      watches: [...groups.values()].map(group => ({
        replica: group[0]!.replica!,
        resource: group[0]!.resource,
        count: group.length,
      })),
    }
  }

  /** Selects from every answered request. */
  async #select(isWanted: (request: AuditedRequest) => boolean): Promise<AuditedRequest[]> {
    if (!this.#answered) throw new Error(unreadable)
    return this.#answered.since(this.#from, isWanted)
  }

  async *#lines(isWanted: (line: string) => boolean): AsyncGenerator<AuditLine> {
    if (this.#file === null) throw new Error(unreadable)
    for await (const line of createInterface({ input: createReadStream(this.#file, { start: this.#from }) })) {
      const entry = isWanted(line) ? parseLine(line) : undefined
      if (entry) yield entry
    }
  }
}

/** Answered requests of one file, parsed once for all readers in this process: a wave reads for each of its users. */
class AnsweredRequests {
  static readonly #ofFiles = new Map<string, AnsweredRequests>()

  static of(file: string, from: number): AnsweredRequests {
    const known = AnsweredRequests.#ofFiles.get(file) ?? new AnsweredRequests(file, from)
    AnsweredRequests.#ofFiles.set(file, known)
    return known
  }

  readonly #file: string
  /** In bytes: all lines before it were read. */
  #end: number
  readonly #requests: { readonly at: number; readonly request: AuditedRequest }[] = []
  #reading: Promise<void> = Promise.resolve()

  private constructor(file: string, from: number) {
    this.#file = file
    this.#end = from
  }

  /** Requests from a position on that are in the file by now. */
  async since(from: number, isWanted: (request: AuditedRequest) => boolean): Promise<AuditedRequest[]> {
    const reading = this.#reading.catch(() => {}).then(() => this.#read())
    this.#reading = reading
    await reading
    const before = this.#requests.findLastIndex(({ at }) => at < from)
    return this.#requests.slice(before + 1).flatMap(({ request }) => (isWanted(request) ? request : []))
  }

  async #read(): Promise<void> {
    const grown = await readFrom(this.#file, this.#end)
    let start = 0
    for (let end = grown.indexOf(newline); end >= 0; end = grown.indexOf(newline, start)) {
      const entry = parseLine(grown.toString('utf8', start, end))
      if (entry?.stage === 'ResponseComplete') {
        this.#requests.push({ at: this.#end + start, request: requestOf(entry) })
      }
      start = end + 1
    }
    this.#end += start
  }
}

async function readFrom(path: string, from: number): Promise<Buffer> {
  const file = await open(path)
  try {
    const buffer = Buffer.alloc((await file.stat()).size - from)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, from)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** The last line may be incomplete. */
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
    message: line.responseStatus?.message ?? '',
    sender: line.user?.username ?? '',
    userAgent,
    op: numberOf(/\bop=(\d+)/.exec(userAgent)?.[1]),
    claim: numberOf(/\bclaim=(\d+)/.exec(userAgent)?.[1]),
    replica: /\breplica=(\S+)/.exec(userAgent)?.[1],
    dryRun: /[?&]dryRun=/.test(line.requestURI),
    receivedAtMs: Date.parse(line.requestReceivedTimestamp),
    completedAtMs: Date.parse(line.stageTimestamp),
  }
}

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text))
