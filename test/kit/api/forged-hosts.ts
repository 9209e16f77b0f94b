/** For tests: values of `Host` from which readers of URLs derive another path than that of the request line. */

/** Letters of one byte that become several in a host name's ASCII form. */
const letters = ['\u00fc', '\u00e9', '\u00f8', '\u00e0', '\u00ff', '\u00e5'] as const

export interface ForgedHost {
  /** Each character is one byte of the header. */
  readonly host: string
  /** The path that a lenient reader derives from it. */
  readonly path: string
}

/**
 * A host whose name in a URL is as long as the whole header: non-ASCII letters make room for a path, and the rest is
 * padded after a question mark. A reader that compares only lengths takes the path for the request's.
 */
export function forgedHost(path: string, letter: string = letters[0], separator: '/' | '\\' = '\\'): ForgedHost {
  const sent = path.replaceAll('/', separator)
  for (let labels = 1; labels <= 64; labels++) {
    const name = Array.from({ length: labels }, () => letter).join('.')
    const room = new URL(`http://${name}`).hostname.length - name.length - sent.length - 1
    if (room < 0) continue
    const host = `${name}${sent}?${'y'.repeat(room)}`
    if (new URL(`http://${host}`).hostname.length === host.length) return { host, path }
  }
  throw new Error(`no host is long enough for ${path}`)
}

/** This many hosts, with all different ones first: each path with each letter and separator, in turn. */
export function* forgedHosts(paths: readonly string[], count: number): Generator<ForgedHost> {
  for (let index = 0; index < count; index++) {
    const round = Math.floor(index / paths.length)
    const letter = letters[round % letters.length]!
    const separator = Math.floor(round / letters.length) % 2 === 0 ? '\\' : '/'
    const path = paths[index % paths.length]!
    const rest = Math.floor(round / letters.length / 2)
    // Further ones differ in the padding behind the path.
    yield forgedHost(rest === 0 ? path : `${path}?${rest}`, letter, separator)
  }
}
