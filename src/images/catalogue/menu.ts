/** Selects the images of the form's menu, by the configured conditions. Pure. */
import type { Config } from '../../config/schema.ts'
import type { ImageTag, TagType } from './tags.ts'
import { compareVersions, parseVersion } from './version.ts'

type Menu = Config['images']['menu']
type Filter = NonNullable<Menu[keyof Menu]>

/** Aliases, and tags that follow no convention, have no conditions: they are always offered. */
const types: Readonly<Record<keyof Menu, TagType>> = {
  release: 'Release',
  weekly: 'Weekly',
  daily: 'Daily',
  releaseCandidate: 'Release Candidate',
  experimental: 'Experimental',
}

const hourMs = 3_600_000
const unitsMs: Readonly<Record<string, number>> = {
  h: hourMs,
  d: 24 * hourMs,
  w: 7 * 24 * hourMs,
  m: 30 * 24 * hourMs,
  y: 365 * 24 * hourMs,
}

/**
 * The images that the menu offers at a time in milliseconds of Unix time, in the order of SQR-059. A condition on a
 * property (date, version of a release, build) does not apply to images without it.
 */
export function offered<T extends ImageTag>(images: readonly T[], menu: Menu, nowMs: number): T[] {
  const conditions = new Map<TagType, (image: ImageTag) => boolean>()
  for (const kind of Object.keys(types) as (keyof Menu)[]) {
    const filter = menu[kind]
    if (filter) conditions.set(types[kind], conditionOf(filter, nowMs))
  }
  return images.filter(image => conditions.get(image.type)?.(image) ?? true)
}

/** The result counts the images that it accepted, so it serves one pass through images in order. */
function conditionOf(filter: Filter, nowMs: number): (image: ImageTag) => boolean {
  const { number = Number.POSITIVE_INFINITY, age, cutoffDate, cutoffVersion, cutoffBuild = 0 } = filter
  const oldestMs = Math.max(
    age === undefined ? Number.NEGATIVE_INFINITY : nowMs - parseAge(age),
    cutoffDate === undefined ? Number.NEGATIVE_INFINITY : Date.parse(cutoffDate),
  )
  const lowest = cutoffVersion === undefined ? null : parseVersion(cutoffVersion)
  let passed = 0
  return ({ dateMs, version, semantic, build }) => {
    if (dateMs !== null && dateMs < oldestMs) return false
    if (lowest && version && semantic && compareVersions(version, lowest) < 0) return false
    if (build !== null && build < cutoffBuild) return false
    passed += 1
    return passed <= number
  }
}

/** Milliseconds of an age such as `36h` or `2w`, in the form that the configuration's schema checks. */
function parseAge(age: string): number {
  return Number(age.slice(0, -1)) * (unitsMs[age.slice(-1)] ?? 0)
}
