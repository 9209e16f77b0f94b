/** What registries say in headers: who may ask, where the next page is, when to come again (RFC 9110, RFC 8288). Pure. */

/** One way in which a server wants to be told who asks. */
export interface Challenge {
  /** In small letters, such as `basic`. */
  readonly scheme: string
  /** By their names in small letters. */
  readonly parameters: ReadonlyMap<string, string>
}

const token = "[!#$%&'*+.^_`|~\\w-]+"
const quoted = '"(?:[^"\\\\]|\\\\.)*"'
const piece = new RegExp(`(${token})(?:\\s*=\\s*(${quoted}|${token}))?`, 'g')

/**
 * The challenges of `WWW-Authenticate`, several of which may stand in one line. What has a value belongs to the scheme
 * before it; what has none is taken for a scheme, also where it is other data, since nobody knows a scheme of that name.
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
// An address holds no angle bracket. Were one let in, each < would be looked behind for an end that is not there.
const link = new RegExp(`<([^<>]*)>((?:${parameter})*)`, 'g')
const relation = new RegExp(`;\\s*rel\\s*=\\s*(${quoted}|[^\\s",;]+)`, 'i')

/** Where `Link` says that the next page is, as it stands there. */
export function nextLink(header: string): string | undefined {
  for (const [, target, parameters = ''] of header.matchAll(link)) {
    const relations = unquote(relation.exec(parameters)?.[1] ?? '').toLowerCase()
    if (relations.split(/\s+/).includes('next')) return target
  }
  return undefined
}

/** How long `Retry-After` asks to wait, as seconds or as a date; undefined where it says nothing. */
export function retryAfterMs(header: string, nowMs: number): number | undefined {
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value
}
