/** Reads the source: the imports of each file, and the length of its functions. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const roots = 'src,dev,bench,test,scripts,plugins'

/** A file of the source. Paths are relative to the checkout. */
export interface SourceFile {
  readonly path: string
  /** Whether it is a test, or a helper of tests. */
  readonly isTest: boolean
  readonly lines: number
  readonly functions: readonly { readonly name: string; readonly lines: number }[]
  readonly imports: readonly SourceImport[]
  /** Whether its head says that it is pure. */
  readonly isPure: boolean
}

export interface SourceImport {
  /** A path of this checkout, or the name of a package. */
  readonly to: string
  /** Whether the import vanishes when the program runs. */
  readonly isType: boolean
}

/** All TypeScript files of the checkout, sorted by path. */
export async function readSource(): Promise<SourceFile[]> {
  const paths = await Array.fromAsync(glob(`{${roots}}/**/*.ts`, { cwd: checkout, exclude: ['**/node_modules'] }))
  return paths
    .filter(path => !path.endsWith('.d.ts'))
    .sort()
    .map(path => readFile(path, readFileSync(join(checkout, path), 'utf8')))
}

/** @param path path of the file; its imports are relative to it */
export function readFile(path: string, text: string): SourceFile {
  const found: Found = { imports: [], functions: [] }
  visit(parseAst(text, { lang: 'ts' }) as unknown as Node, text, found)
  const to = (name: string) => (name.startsWith('.') ? normalize(join(dirname(path), name)) : name)
  return {
    path,
    isTest: /\.(test|attack|cases)\.ts$|(^|\/)testing(\/|[^/]*\.ts$)|^test\//.test(path),
    lines: text.split('\n').length - 1,
    functions: found.functions,
    imports: found.imports.map(({ name, isType }) => ({ to: to(name), isType })),
    isPure: /\bPure\b/.test(headOf(text)),
  }
}

/** The comment at the head, before the imports. */
function headOf(text: string): string {
  return text.startsWith('/**') ? text.slice(0, text.indexOf('*/')) : ''
}

/** The used part of the parser's tree (ESTree, with types). */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

interface Found {
  readonly imports: { readonly name: string; readonly isType: boolean }[]
  readonly functions: { readonly name: string; readonly lines: number }[]
}

function visit(node: Node, text: string, found: Found, name = ''): void {
  const source = node.source as { readonly value?: unknown } | null | undefined
  if (typeof source?.value === 'string') found.imports.push({ name: source.value, isType: isTypeOnly(node) })
  if (/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) {
    found.functions.push({ name: nameOf(node) ?? name, lines: text.slice(node.start, node.end).split('\n').length })
  }
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) visit(child, text, found, nameOf(node) ?? name)
    }
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

function nameOf(node: Node): string | undefined {
  const id = (node.id ?? node.key) as { readonly name?: unknown } | null | undefined
  return typeof id?.name === 'string' ? id.name : undefined
}

function isTypeOnly(node: Node): boolean {
  if (node.importKind === 'type' || node.exportKind === 'type') return true
  const specifiers = node.specifiers as readonly Node[] | undefined
  return (
    specifiers !== undefined &&
    specifiers.length > 0 &&
    specifiers.every(({ importKind, exportKind }) => importKind === 'type' || exportKind === 'type')
  )
}
