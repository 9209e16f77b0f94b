/** A made-up repository with years of tags, in the forms in which registries list it. */
import { createHash } from 'node:crypto'
import type { ListedTag } from '../registry/source.ts'

const dayMs = 86_400_000

export interface RepositoryOptions {
  /** Appended to each weekly and daily, such as `_c0026.001`. Default: nothing. */
  readonly suffixes?: readonly string[]
  /** Tags that name the image of another tag. */
  readonly aliases?: Readonly<Record<string, string>>
}

/**
 * Releases r20_0_0 to r29_1_4 with candidates, weeklies 2016_01 to 2026_30, the dailies of 600 days up to 2026-07-24, some
 * of them for one architecture too, experiments, and aliases.
 */
export class Repository {
  readonly tags: readonly string[]
  readonly #aliases: Readonly<Record<string, string>>

  constructor({ suffixes = [''], aliases = {} }: RepositoryOptions = {}) {
    this.#aliases = aliases
    const dated = [...weeklies(), ...dailies()].flatMap(tag => suffixes.map(suffix => tag + suffix))
    const single = dated.slice(-100).flatMap(tag => [`${tag}-amd64`, `${tag}-arm64`])
    const experiments = Array.from({ length: 50 }, (_, i) => `exp_w_2026_${i + 1}_trial${i}`)
    this.tags = [...Object.keys(aliases), ...releases(), ...dated, ...single, ...experiments, 'mine']
  }

  digestOf(tag: string): string {
    return `sha256:${createHash('sha256')
      .update(this.#aliases[tag] ?? tag)
      .digest('hex')}`
  }

  /** The list of Docker's protocol: names, with a digest only for the tags in `asked`. */
  names(asked: readonly string[] = []): ListedTag[] {
    return this.tags.map(tag => (asked.includes(tag) ? { tag, digest: this.digestOf(tag) } : { tag }))
  }

  /** The list of Artifact Registry. */
  whole(): ListedTag[] {
    return this.tags.map(tag => ({ tag, digest: this.digestOf(tag), sizeBytes: 4_000_000_000 }))
  }
}

function releases(): string[] {
  return range(20, 29).flatMap(major => [
    ...range(0, 1).flatMap(minor => range(0, 4).map(patch => `r${major}_${minor}_${patch}`)),
    ...range(1, 12).map(candidate => `r${major}_0_0_rc${candidate}`),
  ])
}

function weeklies(): string[] {
  const years = range(2016, 2025).flatMap(year => range(1, 52).map(week => [year, week] as const))
  const weeks = [...years, ...range(1, 30).map(week => [2026, week] as const)]
  return weeks.map(([year, week]) => `w_${year}_${String(week).padStart(2, '0')}`)
}

function dailies(): string[] {
  const last = Date.parse('2026-07-24')
  const days = range(0, 599).map(age => new Date(last - age * dayMs).toISOString().slice(0, 10))
  return days.reverse().map(day => `d_${day.replaceAll('-', '_')}`)
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}
