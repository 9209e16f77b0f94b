/** Problems of configuration files, told all at once, by key and never by value: a value may be a secret. */
import type { z } from 'zod'

/** Thrown when the process cannot start with what it was given; the message has one line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  /** @param source the file that the problems are in, as it was named by the operator */
  constructor(source: string, problems: readonly string[]) {
    super([`${source}:`, ...problems.map(problem => `  ${problem}`)].join('\n'))
    this.problems = problems
  }
}

/** `lab.sizes.small.limits.memory`, or `tokens.0.uid`. */
export function keyPath(path: readonly PropertyKey[]): string {
  return path.map(String).join('.')
}

/** One line for each problem that a schema found: the key, then what is wrong with it. */
export function schemaProblems(error: z.ZodError): string[] {
  return error.issues.flatMap(issue => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map(key => unknownKey(keyPath([...issue.path, key])))
    return [`${keyPath(issue.path) || 'the file'}: ${words(issue)}`]
  })
}

/** What to do about keys that releases before had. */
const replaced: Readonly<Record<string, string>> = {
  'identity.gafaelfawr.secretFiles':
    'was replaced by userSecretFiles and adminSecretFiles: give each of the two ingresses a secret of its own, and name its file there (docs/deploy.md tells in which order)',
}

function unknownKey(key: string): string {
  return `${key}: ${replaced[key] ?? 'unknown key'}`
}

function words(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) return 'is required'
  if (issue.code === 'invalid_key') return 'not a permitted name'
  return issue.message.replace(/^Invalid input: /, '')
}
