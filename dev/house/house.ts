/** Builds the picture of rooms, arrows and circles from files and their imports, and compares it with the table. Pure. */
import { dirname } from 'node:path'
import type { SourceFile } from './source.ts'

/** The rows of `table.ts`. */
export type Table = Readonly<Record<string, readonly string[]>>

/** Imports from one room to another. */
export interface Arrow {
  readonly from: string
  readonly to: string
  /** Each import as `file → file`. */
  readonly imports: readonly string[]
}

export interface Room {
  readonly name: string
  /** Number of files, without tests. */
  readonly files: number
  readonly lines: number
  readonly tests: number
}

export interface House {
  readonly rooms: readonly Room[]
  readonly arrows: readonly Arrow[]
  /** Rooms that import each other; one entry lists all rooms of a circle. */
  readonly circles: readonly (readonly string[])[]
  /** Circles of files. */
  readonly fileCircles: readonly (readonly string[])[]
  /** Imports that the table does not permit. */
  readonly against: readonly string[]
  /** Imports by which a pure file reaches I/O. */
  readonly impure: readonly string[]
  /** The longest chain of imports among files that are no tests. */
  readonly longestChain: readonly string[]
}

/** Modules that do I/O or wait for it. `node:net` is left out: pure files use its reading of addresses. */
const outside =
  /^(node:(fs|http|https|http2|dns|tls|child_process|worker_threads|dgram|cluster|readline)(\/|$)|ioredis|redlock|undici|pino|prom-client|@hono\/node-server|@kubernetes\/client-node)/

export function buildHouse(files: readonly SourceFile[], table: Table): House {
  const product = files.filter(({ isTest, path }) => !isTest || path.startsWith('test/kit/'))
  const paths = new Set(product.map(({ path }) => path))
  const edges = new Map(
    product.map(({ path, imports }) => [path, [...new Set(imports.map(({ to }) => to))].filter(to => paths.has(to))]),
  )
  const arrows = arrowsOf(edges)
  const between = new Map<string, string[]>()
  for (const { from, to } of arrows) between.set(from, [...(between.get(from) ?? []), to])
  return {
    rooms: roomsOf(files),
    arrows,
    circles: circlesOf(between),
    fileCircles: circlesOf(edges),
    against: againstTable(edges, table),
    impure: impureOf(product),
    longestChain: longestOf(edges),
  }
}

const roomOf = (path: string): string => dirname(path)

function roomsOf(files: readonly SourceFile[]): Room[] {
  const byRoom = Map.groupBy(files, ({ path }) => roomOf(path))
  return [...byRoom].map(([name, all]) => {
    const own = all.filter(({ isTest }) => !isTest)
    const lines = own.reduce((sum, file) => sum + file.lines, 0)
    return { name, files: own.length, lines, tests: all.length - own.length }
  })
}

function arrowsOf(edges: ReadonlyMap<string, readonly string[]>): Arrow[] {
  const arrows = new Map<string, { from: string; to: string; imports: string[] }>()
  for (const [file, targets] of edges) {
    for (const target of targets) {
      const [from, to] = [roomOf(file), roomOf(target)]
      if (from === to) continue
      const arrow = arrows.get(`${from} ${to}`) ?? { from, to, imports: [] }
      arrow.imports.push(`${file} → ${target}`)
      arrows.set(`${from} ${to}`, arrow)
    }
  }
  return [...arrows.values()]
}

/** Tarjan's strongly connected components, without those of one member. */
function circlesOf(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (node: string) => {
    order.set(node, order.size)
    low.set(node, order.get(node)!)
    stack.push(node)
    for (const next of edges.get(node) ?? []) {
      if (!order.has(next)) visit(next)
      if (stack.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!))
    }
    if (low.get(node) !== order.get(node)) return
    const circle = stack.splice(stack.indexOf(node))
    if (circle.length > 1) circles.push(circle.sort())
  }
  for (const node of edges.keys()) if (!order.has(node)) visit(node)
  return circles
}

/** The row with the longest name that covers the file. */
function rowOf(file: string, table: Table): string | undefined {
  const rows = Object.keys(table).filter(row => isWithin(file, row))
  return rows.toSorted((a, b) => b.length - a.length)[0]
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

function againstTable(edges: ReadonlyMap<string, readonly string[]>, table: Table): string[] {
  const against: string[] = []
  for (const [file, targets] of edges) {
    const row = rowOf(file, table)
    for (const target of targets) {
      const other = rowOf(target, table)
      const permitted = row === other || (row !== undefined && table[row]!.some(room => isWithin(target, room)))
      if (!permitted) against.push(`${file} → ${target}`)
    }
  }
  return against
}

/** Follows imports of values only: a type does nothing. */
function impureOf(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map(file => [file.path, file]))
  const wayOut = (path: string, seen: Set<string>): string[] | undefined => {
    if (seen.has(path)) return undefined
    seen.add(path)
    for (const { to, isType } of byPath.get(path)?.imports ?? []) {
      if (isType) continue
      if (outside.test(to)) return [path, to]
      const rest = wayOut(to, seen)
      if (rest) return [path, ...rest]
    }
    return undefined
  }
  return files.filter(({ isPure }) => isPure).flatMap(({ path }) => wayOut(path, new Set())?.join(' → ') ?? [])
}

function longestOf(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const known = new Map<string, string[]>()
  const longestFrom = (file: string): string[] => {
    const found = known.get(file)
    if (found) return found
    // Within a circle the chain ends where it would begin again.
    known.set(file, [file])
    const chain = [file, ...longest((edges.get(file) ?? []).map(longestFrom))]
    known.set(file, chain)
    return chain
  }
  return longest([...edges.keys()].map(longestFrom))
}

const longest = (chains: readonly string[][]): string[] =>
  chains.reduce((best, chain) => (chain.length > best.length ? chain : best), [])
