/** Problems of configuration files, reported all at once. They name keys and never values, which may be secrets. */
import type { z } from 'zod'

/** Thrown when the process cannot start with its configuration; the message has one line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  /** @param source the file with the problems, as the operator named it */
  constructor(source: string, problems: readonly string[]) {
    super([`${source}:`, ...problems.map(problem => `  ${problem}`)].join('\n'))
    this.problems = problems
  }
}

/** A path in dotted form, such as `lab.sizes.small.limits.memory` or `tokens.0.uid`. */
export function keyPath(path: readonly PropertyKey[]): string {
  return path.map(String).join('.')
}

/** One line for each problem that a schema found: the key, then the problem. */
export function schemaProblems(error: z.ZodError): string[] {
  return error.issues.flatMap(issue => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map(key => unknownKey(keyPath([...issue.path, key])))
    return [`${keyPath(issue.path) || 'the file'}: ${words(issue)}`]
  })
}

/** Instructions for keys of former releases. */
const replaced: Readonly<Record<string, string>> = {
  'identity.gafaelfawr.secretFiles':
    'was replaced by userSecretFiles and adminSecretFiles: give each of the two ingresses a secret of its own, and name its file there (docs/deploy.md has the order)',
}

function unknownKey(key: string): string {
  return `${key}: ${replaced[key] ?? 'unknown key'}`
}

function words(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) return 'is required'
  if (issue.code === 'invalid_key') return 'not a permitted name'
  return issue.message.replace(/^Invalid input: /, '')
}
