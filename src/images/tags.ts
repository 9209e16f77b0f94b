/**
 * Tags of images by the convention of SQR-059: what they say, what people call them, in which order they stand. Pure.
 *
 * A tag that follows the convention is `<head>[_c<cycle>.<build>][_rsp<build>][_<extra>][-<architecture>]`; before it,
 * `exp_` marks an experiment. Whatever follows none is of the type Unknown, and never an error.
 */
import type { Version } from './version.ts'
import { compareVersions, formatVersion } from './version.ts'

/** In the order in which lists have them. */
export const tagTypes = ['Alias', 'Release', 'Weekly', 'Daily', 'Release Candidate', 'Experimental', 'Unknown'] as const
export type TagType = (typeof tagTypes)[number]

/** What a tag says. Null is what it does not say. */
export interface ImageTag {
  readonly tag: string
  readonly type: TagType
  /** For people; never empty. */
  readonly displayName: string
  /** What the name begins with: the image without its builds and architecture. */
  readonly title: string
  /** Of a daily or weekly its date, which sorts as a version does. */
  readonly version: Version | null
  /** Whether the version is that of a release, not a date. */
  readonly semantic: boolean
  /** The day of a daily, the Thursday of a weekly's ISO week: its midnight in UTC, in milliseconds of Unix time. */
  readonly dateMs: number | null
  /** What stands where others have a version. */
  readonly base: string | null
  /** Of the interfaces that the image was built for (SAL). */
  readonly cycle: number | null
  readonly cycleBuild: number | null
  /** Of the image itself (RSP). */
  readonly build: number | null
  readonly architecture: string | null
  readonly extra: string | null
}

/** What is read of a tag before its architecture is added. */
type Reading = Omit<ImageTag, 'tag' | 'displayName' | 'architecture'>
/** What a head says of an image. */
type Head = Pick<ImageTag, 'title' | 'version' | 'semantic' | 'dateMs'>
type Groups = Readonly<Record<string, string | undefined>>

interface Convention {
  readonly type: TagType
  readonly form: RegExp
  /** @returns null for a date that does not exist */
  readonly head: (groups: Groups) => Head | null
}

/** Of ten digits and more no number is made: it could not be told from its neighbours at last. */
const number = (name: string) => `(?<${name}>\\d{1,9})`
const builds = `(?:_c${number('cycle')}\\.${number('cycleBuild')})?(?:_rsp${number('build')})?(?:_(?<extra>.+))?`
const formOf = (head: string) => new RegExp(`^${head}${builds}$`)

const triple = `r${number('major')}_${number('minor')}_${number('patch')}`
const dayMs = 86_400_000

/** The first that fits counts: what is a candidate would also be a release, with something extra. */
const conventions: readonly Convention[] = [
  {
    type: 'Release Candidate',
    form: formOf(`${triple}_(?<prerelease>rc\\d{1,9})`),
    head: groups => releaseHead('Release Candidate', groups),
  },
  { type: 'Release', form: formOf(triple), head: groups => releaseHead('Release', groups) },
  // As releases were tagged in former times: r170 is 17.0.
  { type: 'Release', form: formOf('r(?<major>\\d\\d)(?<minor>\\d)'), head: groups => releaseHead('Release', groups) },
  {
    type: 'Weekly',
    form: formOf('w_(?<year>\\d{4})_(?<week>\\d{1,2})'),
    head: ({ year = '', week = '' }) =>
      datedHead(`Weekly ${year}_${week}`, [Number(year), Number(week), 0], thursdayOf(year, Number(week))),
  },
  {
    type: 'Daily',
    form: formOf('d_(?<year>\\d{4})_(?<month>\\d{1,2})_(?<day>\\d{1,2})'),
    head: ({ year = '', month = '', day = '' }) =>
      datedHead(
        `Daily ${year}_${month}_${day}`,
        [Number(year), Number(month), Number(day)],
        midnightOf(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`),
      ),
  },
]

/** Reads a tag of a repository, some of whose tags are known to be other names of images. */
export function readTag(tag: string, aliasTags: ReadonlySet<string>): ImageTag {
  return aliasTags.has(tag) ? parseAlias(tag) : parseTag(tag)
}

/** Reads a tag, whatever it is. No tag at all is `latest`, as for those who pull it. */
export function parseTag(text: string): ImageTag {
  const tag = text === '' ? 'latest' : text
  const { body, architecture } = splitArchitecture(tag)
  const [, marks = '', rest = body] = /^((?:exp_)+)(.+)$/s.exec(body) ?? []
  const read = readConvention(rest) ?? readName(rest)
  if (marks === '') return named({ ...read, tag, architecture })
  const title = 'Experimental '.repeat(marks.length / 4) + read.title
  return named({ ...read, tag, type: 'Experimental', title, architecture })
}

/** Reads a tag that is known to be another name of some image. */
export function parseAlias(tag: string): ImageTag {
  const { body, architecture } = splitArchitecture(tag)
  const read = readName(body)
  return named({ ...read, tag, type: 'Alias', title: titleCase(read.title), architecture })
}

/**
 * An alias, named after the image that it stands for: of the cycle of that, and of its date and architecture where the
 * alias has none yet.
 */
export function resolveAlias<T extends ImageTag>(alias: T, target: ImageTag): T {
  const architecture = alias.architecture ?? target.architecture
  const meant = [target.title, ...buildNames(target)].join(', ')
  const further = brackets(target.extra, target.architecture === architecture ? null : target.architecture)
  const title = titleCase(alias.base ?? alias.tag)
  return {
    ...alias,
    type: 'Alias',
    title,
    displayName: `${title} (${meant}${further})${brackets(architecture)}`,
    cycle: target.cycle,
    dateMs: alias.dateMs ?? target.dateMs,
    architecture,
  }
}

/**
 * The order of SQR-059: by type, then the latest first. Below zero when the first one stands before the other. Tags that
 * say the same in other words stand as their texts do, so no two are equal.
 */
export function compareTags(one: ImageTag, other: ImageTag): number {
  return (
    tagTypes.indexOf(one.type) - tagTypes.indexOf(other.type) ||
    compareHeads(other, one) ||
    compareNumbers(other.cycle, one.cycle) ||
    compareNumbers(other.cycleBuild, one.cycleBuild) ||
    compareNumbers(other.build, one.build) ||
    compareTexts(other.extra, one.extra) ||
    compareArchitectures(other.architecture, one.architecture) ||
    compareTexts(one.tag, other.tag)
  )
}

function readConvention(text: string): Reading | null {
  for (const { type, form, head } of conventions) {
    const groups = form.exec(text)?.groups
    const found = groups && head(groups)
    if (found) return { ...found, type, base: null, ...readBuilds(groups) }
  }
  return null
}

/** A name of no convention, which may end with a cycle. */
function readName(text: string): Reading {
  const groups: Groups = /^(?<base>.+)_c(?<cycle>\d{1,9})(?:\.(?<cycleBuild>\d{1,9}))?$/s.exec(text)?.groups ?? {}
  const base = groups.base ?? text
  const unsaid = { version: null, semantic: false, dateMs: null }
  return { type: 'Unknown', title: base, base, ...unsaid, ...readBuilds(groups) }
}

function readBuilds({ cycle, cycleBuild, build, extra }: Groups) {
  return {
    cycle: numberOf(cycle),
    cycleBuild: numberOf(cycleBuild),
    build: numberOf(build),
    extra: extra ?? null,
  }
}

function numberOf(digits: string | undefined): number | null {
  return digits === undefined ? null : Number(digits)
}

function splitArchitecture(tag: string): { body: string; architecture: string | null } {
  const dash = tag.lastIndexOf('-')
  if (dash < 0 || dash === tag.length - 1) return { body: tag, architecture: null }
  return { body: tag.slice(0, dash), architecture: tag.slice(dash + 1) }
}

function releaseHead(title: string, { major, minor, patch = '0', prerelease }: Groups): Head {
  const numbers = { major: Number(major), minor: Number(minor), patch: Number(patch) }
  const version = { ...numbers, prerelease: prerelease ?? null }
  return { title: `${title} r${formatVersion(version)}`, version, semantic: true, dateMs: null }
}

function datedHead(title: string, [major, minor, patch]: [number, number, number], dateMs: number | null): Head | null {
  return dateMs === null ? null : { title, version: { major, minor, patch, prerelease: null }, semantic: false, dateMs }
}

/** The Thursday of an ISO week, which is always in the week's own year; null when that year has no such week. */
function thursdayOf(year: string, week: number): number | null {
  // The fourth of January is in the first week of every year.
  const fourth = new Date(`${year}-01-04`)
  const daysSinceMonday = (fourth.getUTCDay() + 6) % 7
  const thursday = fourth.getTime() + (3 - daysSinceMonday + 7 * (week - 1)) * dayMs
  return new Date(thursday).getUTCFullYear() === Number(year) ? thursday : null
}

function midnightOf(day: string): number | null {
  const midnight = Date.parse(day)
  if (Number.isNaN(midnight)) return null
  // The thirtieth of February is taken for a day in March.
  return new Date(midnight).toISOString().startsWith(day) ? midnight : null
}

function named(tag: Omit<ImageTag, 'displayName'>): ImageTag {
  const builtFrom = buildNames(tag).map(name => ` (${name})`)
  return { ...tag, displayName: `${tag.title}${builtFrom.join('')}${brackets(tag.extra, tag.architecture)}` }
}

function buildNames({ cycle, cycleBuild, build }: Pick<ImageTag, 'cycle' | 'cycleBuild' | 'build'>): string[] {
  const names: string[] = []
  if (cycle !== null) {
    const ofCycle = cycleBuild === null ? '' : `, Build ${String(cycleBuild).padStart(3, '0')}`
    names.push(`SAL Cycle ${String(cycle).padStart(4, '0')}${ofCycle}`)
  }
  if (build !== null) names.push(`RSP Build ${build}`)
  return names
}

function brackets(...texts: (string | null)[]): string {
  return texts.map(text => (text === null ? '' : ` [${text}]`)).join('')
}

/** `latest_weekly` is Latest Weekly. */
function titleCase(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.replace(/[A-Za-z]+/g, word => word[0]!.toUpperCase() + word.slice(1).toLowerCase())
}

/** A name is above all versions: it has a base, they have none. */
function compareHeads(one: ImageTag, other: ImageTag): number {
  return one.version && other.version ? compareVersions(one.version, other.version) : compareTexts(one.base, other.base)
}

/** None is the lowest. */
function compareNumbers(one: number | null, other: number | null): number {
  return (one ?? -1) - (other ?? -1)
}

/** None is the lowest. */
function compareTexts(one: string | null, other: string | null): number {
  if (one === other) return 0
  if (one === null || other === null) return one === null ? -1 : 1
  return one < other ? -1 : 1
}

/** None is the highest: the image for every architecture stands before those for one. */
function compareArchitectures(one: string | null, other: string | null): number {
  return one === null || other === null ? compareTexts(other, one) : compareTexts(one, other)
}
