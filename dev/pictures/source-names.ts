/** Names the places of a profile by the files of the source, with the source maps of a bundle. */
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/** The place of a function, as V8 writes it into a profile. Line and column count from 0. */
export interface CallFrame {
  readonly functionName: string
  /** Empty for functions of V8, and for those of Node in C++. */
  readonly url: string
  readonly lineNumber: number
  readonly columnNumber: number
}

/** The text of a bundled file's source map; undefined without one. */
export type MapOf = (url: string) => string | undefined

/** The map beside the file. */
export const mapBeside: MapOf = url => {
  try {
    return readFileSync(fileURLToPath(`${url}.map`), 'utf8')
  } catch {
    return undefined
  }
}

export interface SourcePlace {
  /** A path below the root (`src/ops/engine.ts`), the name of a package, a module of Node (`node:net`), or `native`. */
  readonly place: string
  /** From 1, in the file of the source if there is a map. */
  readonly line: number
}

/** Returns the place of a frame in the source. */
export function sourceNames(mapOf: MapOf = mapBeside): (frame: CallFrame) => SourcePlace {
  const maps = new Map<string, SourceMap | undefined>()
  const mapFor = (url: string): SourceMap | undefined => {
    if (!maps.has(url)) {
      const text = mapOf(url)
      maps.set(url, text === undefined ? undefined : new SourceMap(JSON.parse(text)))
    }
    return maps.get(url)
  }
  return ({ url: address, lineNumber, columnNumber }) => {
    const url = address.replace(/\?.*/, '')
    const line = lineNumber + 1
    if (url === '' || url.startsWith('wasm:')) return { place: 'native', line }
    if (url.startsWith('node:')) return { place: url.split('/').slice(0, 2).join('/'), line }
    const entry = mapFor(url)?.findEntry(lineNumber, columnNumber)
    if (!entry || !('originalSource' in entry)) return { place: shortPath(url), line }
    return { place: shortPath(entry.originalSource), line: entry.originalLine + 1 }
  }
}

function shortPath(path: string): string {
  const inPackage = /^.*\bnode_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)
  if (inPackage) return inPackage[1]!
  return path.replace(/^.*\/(?=(?:src|dev|bench)\/)/, '').replace(/^.*\/(?=[^/]+\.mjs$)/, '')
}
