/** Parses headers of registries: challenges, next pages, times to wait (RFC 9110, RFC 8288). Pure. */

/** One way in which a server accepts authentication. */
export interface Challenge {
  /** In lower case, such as `basic`. */
  readonly scheme: string
  /** By their names in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

const token = "[!#$%&'*+.^_`|~\\w-]+"
const quoted = '"(?:[^"\\\\]|\\\\.)*"'
const piece = new RegExp(`(${token})(?:\\s*=\\s*(${quoted}|${token}))?`, 'g')

/**
 * The challenges of `WWW-Authenticate`, which may be several on one line. A parameter with a value belongs to the
 * scheme before it. A word without a value is read as a scheme, also if it is other data, since it matches no known
 * scheme.
 */
export function parseChallenges(header: string): readonly Challenge[] {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = []
  for (const [, name = '', value] of header.matchAll(piece)) {
    const parameters = challenges.at(-1)?.parameters
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), parameters: new Map() })
    else if (parameters && !parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), unquote(value))
  }
  return challenges
}

const parameter = `\\s*;\\s*${token}(?:\\s*=\\s*(?:${quoted}|[^\\s",;]+))?`
// An address contains no angle bracket. Otherwise each < would start another search for its end.
const link = new RegExp(`<([^<>]*)>((?:${parameter})*)`, 'g')
const relation = new RegExp(`;\\s*rel\\s*=\\s*(${quoted}|[^\\s",;]+)`, 'i')

/** The address of the next page in `Link`, unchanged. */
export function nextLink(header: string): string | undefined {
  for (const [, target, parameters = ''] of header.matchAll(link)) {
    const relations = unquote(relation.exec(parameters)?.[1] ?? '').toLowerCase()
    if (relations.split(/\s+/).includes('next')) return target
  }
  return undefined
}

/** The wait in `Retry-After`, from seconds or a date; undefined without one. */
export function retryAfterMs(header: string, nowMs: number): number | undefined {
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value
}
