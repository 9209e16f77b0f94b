/** YAML as deployments write it: a YAML 1.1 reader's `yes`, `on` and `0644`, with duplicate keys refused. */
import { LineCounter, parseDocument, type YAMLError } from 'yaml'

/**
 * Reads one YAML 1.1 document.
 * @returns the value, or the problems, each with its line; no problem quotes what stands in the file
 */
export function parseYaml(text: string): { value: unknown } | { problems: string[] } {
  const lines = new LineCounter()
  const document = parseDocument(text, { version: '1.1', uniqueKeys: true, prettyErrors: false, lineCounter: lines })
  const problems = [...document.errors, ...document.warnings].map(error => {
    const { line, col } = lines.linePos(error.pos[0])
    return `line ${line}, column ${col}: ${words(error, text)}`
  })
  if (problems.length > 0) return { problems }
  try {
    return { value: document.toJS() }
  } catch {
    // Too many aliases, or one that names no anchor.
    return { problems: ['an alias of YAML that cannot be resolved'] }
  }
}

function words(error: YAMLError, text: string): string {
  if (error.code === 'DUPLICATE_KEY') return `the key ${keyAt(text, error.pos[0])} stands twice`
  // The parser's own messages quote the source, which may be a secret: `password: !abc` is a tag to it.
  return `is not YAML (${error.code.toLowerCase().replaceAll('_', ' ')})`
}

function keyAt(text: string, position: number): string {
  return text.slice(position).match(/^["']?([\w.-]{1,64})/)?.[1] ?? ''
}
