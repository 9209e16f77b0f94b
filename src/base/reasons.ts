/**
 * Why a server cannot be used, in our words, from errors of the network, of TLS and of Redis. Libraries describe the
 * same failure in many ways, and some of them quote the request. Pure.
 */

export interface Reason {
  /** For clients too: without host names, addresses, or text of a server. */
  readonly words: string
  /** For operators: code, address and remedy. Without secrets. */
  readonly detail: string
}

export interface ReasonHints {
  /** The setting that names a trusted authority, such as `images.caFile`. */
  readonly trustBy?: string | undefined
  /** Whether the connection is made without TLS. A server with TLS closes such a connection without a message. */
  readonly clear?: boolean | undefined
  /** Whether the failure may be during a TLS handshake: a server without TLS may stay silent and wait for more. */
  readonly handshake?: boolean | undefined
  /** Texts that must never be shown, whatever a server says. */
  readonly secrets?: readonly (string | undefined)[]
}

const late =
  'there is no answer in time: it hangs, its address is wrong, or a network policy or firewall drops the connection'
const untrusted = 'its certificate is not from a trusted authority'
const nameless = 'the host name cannot be looked up: the name service does not answer'
const unroutable = 'there is no route to the address'
const forbidden = 'this machine does not permit the connection'
const closed = 'the server closes the connection'
const clear = 'the server does not speak TLS'
const clientCertificate = 'the server demands a client certificate'
const noHandshake = 'the TLS handshake fails'
/** Servers with TLS that answer a plain request say so. */
export const expectsTls = 'the server expects TLS'
const noHttp = 'the answer is not HTTP: the server may expect TLS'
const expired = 'its certificate has expired'
const otherName = 'its certificate is for another host name'
const busy = 'a script keeps it busy'
const replica = 'it is a replica: it takes no writes'

/** A connection that ended before the server sent anything. No library has a code for it. */
export const closedEarly = 'CLOSED_EARLY'

/** By the codes of Node, OpenSSL and undici. */
const byCode: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'nothing listens on this port'],
  ['ENOTFOUND', 'the host name is unknown'],
  ...['EAI_AGAIN', 'EAI_FAIL'].map(code => [code, nameless] as const),
  ...['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'].map(
    code => [code, late] as const,
  ),
  ...['EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'].map(code => [code, unroutable] as const),
  ...['EACCES', 'EPERM'].map(code => [code, forbidden] as const),
  ...['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_CLOSED'].map(code => [code, closed] as const),
  [closedEarly, closed],
  ['UND_ERR_HEADERS_OVERFLOW', 'the headers of the answer are too large'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the answer has another length than it says'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT'].map(
    code => [code, untrusted] as const,
  ),
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERT_UNTRUSTED', 'CERT_SIGNATURE_FAILURE'].map(
    code => [code, untrusted] as const,
  ),
  ['CERT_HAS_EXPIRED', expired],
  ['ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED', 'the server finds that our certificate has expired'],
  ['CERT_NOT_YET_VALID', 'its certificate is not valid yet'],
  ['CERT_REVOKED', 'its certificate is revoked'],
  ['INVALID_PURPOSE', 'its certificate is not one for a server'],
  ...['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'].map(code => [code, otherName] as const),
  ...['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_HTTP_REQUEST'].map(
    code => [code, clear] as const,
  ),
  ...['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'ERR_SSL_TLSV1_ALERT_CERTIFICATE_REQUIRED'].map(
    code => [code, clientCertificate] as const,
  ),
  // Replies of Redis.
  ['WRONGPASS', 'wrong user name or password'],
  ['NOAUTH', 'a password is required, and none is configured'],
  ['NOPERM', 'its user lacks a right'],
  ['DENIED', 'its protected mode refuses other machines'],
  ['LOADING', 'it is loading its data'],
  ['MASTERDOWN', 'it is a replica that has lost its master'],
  ...['READONLY', 'UNBLOCKED'].map(code => [code, replica] as const),
  ['OOM', 'its memory is full'],
  ['MISCONF', 'it cannot save its data'],
  ['NOREPLICAS', 'too few of its replicas are connected'],
  ...['BUSY', 'UNKILLABLE'].map(code => [code, busy] as const),
])

const deadline = /^no answer within \d+ ms$/

/** By message, for errors whose code is too general. */
const bySaying: readonly (readonly [RegExp, string])[] = [
  [/wrong version number|packet length too long|HTTP request\b.*SSL/i, clear],
  [/before secure TLS connection was established/, 'the server ends the TLS handshake: it may not speak TLS'],
  [/certificate required/i, clientCertificate],
  [/^HPE_|Parse Error: Expected HTTP|^Response does not match the HTTP|^bad (response|upgrade)$/, noHttp],
  [/HTTP request (was sent )?to (an )?HTTPS/i, expectsTls],
  [/max number of clients/, 'it has too many clients'],
  [deadline, late],
  // Redis, and its client.
  [/Command timed out|Socket timeout/, 'there is no answer in time'],
  [/user executing the script can't/, 'its user lacks a right'],
  [/has become a replica/, replica],
  [/isn't writeable|Connection is closed|max retries per request|Command aborted/i, 'there is no connection'],
]

const unknown = 'it cannot be used'
const longestDetail = 200

/** Searches causes and the attempts at several addresses, up to the first known one. */
export function reasonOf(error: unknown, hints: ReasonHints = {}): Reason {
  const chain = chainOf(error)
  for (const each of chain) {
    const words = withHints(wordsOf(each), hints)
    if (words !== undefined) return { words, detail: detailOf(each, words, hints) }
  }
  return { words: unknown, detail: cleaned(chain.at(-1)?.message || codeOf(chain.at(-1)), hints.secrets) }
}

function withHints(words: string | undefined, { clear, handshake }: ReasonHints): string | undefined {
  if (words === closed && clear) return `${closed}: it may expect TLS`
  return words === late && handshake ? `${late}, or it does not speak TLS` : words
}

/** Whether this is a failure of the network, of TLS or of Redis, not an answer with another meaning. */
export const isKnown = ({ words }: Reason): boolean => words !== unknown

/** For logs and readiness. */
export const inFull = ({ words, detail }: Reason): string => (detail === '' ? words : `${words} (${detail})`)

interface Failure {
  readonly message?: string
  readonly name?: string
  readonly code?: unknown
  readonly hostname?: unknown
  readonly host?: unknown
  readonly address?: unknown
  readonly port?: unknown
  /** The certificate of the server, if the host name is missing in it. */
  readonly cert?: { readonly subjectaltname?: unknown }
}

/** An error and its causes, also when they form a circle. */
function chainOf(error: unknown): Failure[] {
  const found: Failure[] = []
  for (let queue = [error]; queue.length > 0 && found.length < 10; ) {
    const each = queue.shift()
    if (typeof each !== 'object' || each === null) {
      if (each !== undefined) found.push({ message: String(each) })
      continue
    }
    const { cause, errors } = each as { cause?: unknown; errors?: unknown }
    found.push(each as Failure)
    queue = [...queue, ...(Array.isArray(errors) ? errors : []), ...(cause === undefined ? [] : [cause])]
  }
  return found
}

function codeOf(failure: Failure | undefined): string {
  if (typeof failure?.code === 'string') return failure.code
  return failure?.name === 'ReplyError' ? (/^[A-Z]+(?= |$)/.exec(failure.message ?? '')?.[0] ?? '') : ''
}

function wordsOf(failure: Failure): string | undefined {
  const code = codeOf(failure)
  const said = bySaying.find(([pattern]) => pattern.test(failure.message ?? '') || pattern.test(code))?.[1]
  return said ?? byCode.get(code) ?? (/^(ERR_SSL_|EPROTO)/.test(code) ? noHandshake : undefined)
}

function detailOf(failure: Failure, words: string, { trustBy, secrets }: ReasonHints): string {
  const { hostname, host, address, port, cert } = failure
  const place = [hostname ?? host ?? address, port].filter(part => part !== undefined).join(':')
  const names = words === otherName ? `it has ${cert?.subjectaltname ?? 'none'}` : ''
  const help = words === untrusted && trustBy ? `name the authority in ${trustBy}` : ''
  return cleaned([`${shownOf(failure)} ${place}`.trim(), names, help].filter(part => part !== '').join('; '), secrets)
}

/** The code; for replies and for our own deadlines the whole message. */
function shownOf(failure: Failure): string {
  if (failure.name === 'ReplyError' || deadline.test(failure.message ?? ''))
    return (failure.message ?? '').replace(/\.$/, '')
  const code = codeOf(failure)
  return code === closedEarly ? '' : code
}

/** One line of bounded length, without passwords: neither known ones nor those in addresses. */
export function cleaned(text: string, secrets: ReasonHints['secrets'] = []): string {
  const forms = secrets.flatMap(secret => (secret ? [secret, encodeURIComponent(secret)] : []))
  const scrub = (dirty: string) => forms.reduce((rest, form) => rest.replaceAll(form, '***'), dirty)
  // Again, since joined lines may form a password.
  const line = scrub(
    scrub(text)
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .replace(/:\/\/[^/\s@]*@/g, '://***@'),
  )
  return line.trim().slice(0, longestDetail)
}
