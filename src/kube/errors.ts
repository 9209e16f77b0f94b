/** Errors of the API server's refusals. */

/** A refusal by the API server that a retry would not change: 403, 404, 409, 422 and the like. */
export class KubeError extends Error {
  override readonly name = 'KubeError'
  /** HTTP status */
  readonly status: number
  /** Machine-readable cause, such as `AlreadyExists`; empty when the answer was not a Status object. */
  readonly reason: string
  /** How long the server asked to wait, if it did. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message)
    this.status = status
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

/** Whether a create met an object of the same name. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && error.reason === 'AlreadyExists'
}

/**
 * Whether a create was refused by a ResourceQuota, and would be again. While a new quota is not counted yet, the server
 * refuses with another message, and this is false.
 */
export function isOverQuota(error: unknown): error is KubeError {
  return error instanceof KubeError && error.status === 403 && /: (exceeded|failed) quota: /.test(error.message)
}

/**
 * Whether the API server itself reports that the object does not exist. A bare 404, as from a proxy or from a server
 * that is still starting, says nothing about the object.
 */
export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404 && error.reason === 'NotFound'
}

/** Whether a list or a watch asked for a state that the server no longer has. */
export function isExpired(error: unknown): boolean {
  return error instanceof KubeError && error.status === 410
}

interface StatusObject {
  readonly kind?: unknown
  readonly code?: unknown
  readonly reason?: unknown
  readonly message?: unknown
  readonly details?: { readonly retryAfterSeconds?: unknown } | null
}

/** A refusal as an error, from the answer's status, its Retry-After header (seconds) and its body. */
export function kubeError(status: number, body: unknown, retryAfter?: string): KubeError {
  const object = typeof body === 'object' && body !== null ? (body as StatusObject) : {}
  const isStatus = object.kind === 'Status'
  const reason = isStatus && typeof object.reason === 'string' ? object.reason : ''
  const said = isStatus && typeof object.message === 'string' ? object.message : ''
  const message = said || `the API server answered ${status}${typeof body === 'string' ? excerpt(body) : ''}`
  return new KubeError(status, reason, message, retryAfterMs(retryAfter, object.details?.retryAfterSeconds))
}

/** The error inside a watch event of type ERROR, whose object is a Status. */
export function watchError(object: unknown): KubeError {
  const code = (object as StatusObject | null)?.code
  return kubeError(typeof code === 'number' ? code : 500, object)
}

/** The header precedes the body. Dates, which the API server never sends, are ignored. */
function retryAfterMs(header: string | undefined, fromBody: unknown): number | undefined {
  if (header !== undefined && /^\d{1,9}$/.test(header.trim())) return Number(header) * 1000
  return typeof fromBody === 'number' && fromBody > 0 ? fromBody * 1000 : undefined
}

function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim().slice(0, 200)
  return line ? `: ${line}` : ''
}

/** Quoted values longer than this are left out. */
const longestQuotation = 64
const longestWords = 1_000

/**
 * An error's words in at most 1,000 characters, for logs and statuses. The server quotes values, which may be whole fields, and
 * says what is wrong with them after that: so long quotations are left out, and then the middle.
 * @param kind of the object: nothing of a Secret is quoted
 */
export function briefly(error: Error, kind?: string): string {
  if (kind === 'Secret') return error instanceof KubeError ? `${error.status} ${error.reason}` : error.name
  const words = withoutQuotations(error.message)
  if (words.length <= longestWords) return words
  const part = longestWords / 2
  return `${words.slice(0, part - 3)} … ${words.slice(-part)}`
}

function withoutQuotations(text: string): string {
  const parts: string[] = []
  for (let at = 0; ; ) {
    const open = text.indexOf('"', at)
    if (open < 0) return [...parts, text.slice(at)].join('')
    const close = endOfQuotation(text, open)
    const length = close - open - 1
    parts.push(
      text.slice(at, open),
      length > longestQuotation ? `"…(${length} characters)"` : text.slice(open, close + 1),
    )
    at = close + 1
  }
}

/** The place of the closing quotation mark, which has no odd number of backslashes before it; or of the end. */
function endOfQuotation(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return at
  }
  return text.length
}
