/**
 * Attacks that a filter names: each runs by itself then. A whole run has them side by side, in `together.test.ts` and
 * `timed.test.ts`, which import them.
 */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = 'test/integration/faults/'

const allAttacks = (): string[] =>
  readdirSync(fileURLToPath(new URL(`../../${folder}`, import.meta.url))).filter(name => name.endsWith('.attack.ts'))

/** Paths of attacks. A filter that names their folder means the files that run them all. */
export function attacksNamed(filters: readonly string[], names: readonly string[] = allAttacks()): string[] {
  const isNamed = (path: string) => filters.some(filter => path.includes(filter) && !folder.includes(filter))
  return names.map(name => folder + name).filter(isNamed)
}
