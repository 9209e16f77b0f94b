/** Reads YAML 1.1, as deployments write it, with `yes`, `on` and `0644`. Duplicate keys are refused. */
import { type Document, LineCounter, parseAllDocuments, parseDocument, type YAMLError } from 'yaml'

type Parsed<T> = T | { problems: string[] }

const settings = { version: '1.1', uniqueKeys: true, prettyErrors: false } as const

/**
 * Reads one YAML 1.1 document.
 * @returns the value, or the problems, each with its line; no problem quotes the file's content
 */
export function parseYaml(text: string): Parsed<{ value: unknown }> {
  const lineCounter = new LineCounter()
  const read = valuesOf([parseDocument(text, { ...settings, lineCounter })], text, lineCounter)
  return 'problems' in read ? read : { value: read.values[0] }
}

/** Reads all documents of a text, in the way of `parseYaml`. */
export function parseAllYaml(text: string): Parsed<{ values: unknown[] }> {
  const lineCounter = new LineCounter()
  return valuesOf([...parseAllDocuments(text, { ...settings, lineCounter })], text, lineCounter)
}

function valuesOf(documents: readonly Document[], text: string, lines: LineCounter): Parsed<{ values: unknown[] }> {
  const problems = documents
    .flatMap(({ errors, warnings }) => [...errors, ...warnings])
    .map(error => {
      const { line, col } = lines.linePos(error.pos[0])
      return `line ${line}, column ${col}: ${words(error, text)}`
    })
  if (problems.length > 0) return { problems }
  try {
    return { values: documents.map(document => document.toJS()) }
  } catch {
    // There are too many aliases, or one names no anchor.
    return { problems: ['an alias of YAML that cannot be resolved'] }
  }
}

function words(error: YAMLError, text: string): string {
  if (error.code === 'DUPLICATE_KEY') return `the key ${keyAt(text, error.pos[0])} is repeated`
  // The parser's own messages quote the source, which may be a secret: `password: !abc` is a tag to it.
  return `is not YAML (${error.code.toLowerCase().replaceAll('_', ' ')})`
}

function keyAt(text: string, position: number): string {
  return text.slice(position).match(/^["']?([\w.-]{1,64})/)?.[1] ?? ''
}
