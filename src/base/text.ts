/** Prepares messages of the cluster for users: without secrets and noise, of bounded length. Pure. */

const maxLength = 1000
const maxSearched = 8192
const lastLines = 5

/**
 * Each pattern removes a secret from text of others: pull errors quote signed addresses, servers print their tokens.
 * Repetitions are bounded, since users can write the text that is searched here.
 */
const secretForms: readonly [RegExp, string][] = [
  [/(:\/\/)[^\s/?#"'@]*@/g, '$1***@'],
  [/(https?:\/\/[^\s"'<>?]{0,1000}\?)[^\s"'<>]*/gi, '$1***'],
  [/\b(bearer|basic)\s{1,3}[\w.~+/=-]{16,}/gi, '$1 ***'],
  [/((?:password|passwd|passphrase)[\w-]{0,40}["']?\s{0,3}[=:]\s{0,3}["']?)[^\s"',;&]+/gi, '$1***'],
  [/((?:token|secret|_key|apikey|signature|credential)[\w-]{0,40}["']?\s{0,3}=\s{0,3}["']?)[^\s"',;&]+/gi, '$1***'],
  // A colon is followed by a cause as often as by a value: "token: unexpected status".
  [
    /((?:token|secret|_key|apikey|signature|credential)[\w-]{0,40}["']?\s{0,3}:\s{0,3}["']?)(?=\S{0,200}\d)[^\s"',;&]{8,}/gi,
    '$1***',
  ],
  [/\bgt-[\w-]{10,200}\.[\w-]{10,}/g, '***'],
  [/\beyJ[\w-]{1,1000}\.[\w-]+\.[\w-]*/g, '***'],
  // A long opaque text may be a token; digests of images are not.
  [/(?<!\w|sha256:)(?=\w*\d)(?=\w*[A-Za-z])\w{32,}/g, '***'],
]

/** One line of text from the cluster, for a user to read. */
export function cleanWords(text: string): string {
  return bounded(withoutSecrets(text.slice(0, maxSearched)).replace(/\s+/g, ' ').trim())
}

/** The end of a container's output, for a user to read. */
export function cleanLastLines(text: string): string {
  const lines = withoutSecrets(text.slice(-maxSearched))
    .split(/\r?\n/)
    .map(line => line.replace(/[\p{Cc}]+/gu, ' ').trimEnd())
    .filter(line => line.trim() !== '')
  return boundedEnd(lines.slice(-lastLines).join('\n'))
}

function withoutSecrets(text: string): string {
  return secretForms.reduce((cleaned, [form, replacement]) => cleaned.replace(form, replacement), text)
}

function bounded(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`
}

function boundedEnd(text: string): string {
  return text.length <= maxLength ? text : `…${text.slice(-maxLength)}`
}
