/**
 * Tags of images by the convention of SQR-059: what they say, what people call them, in which order they stand. Pure.
 *
 * A tag that follows the convention is `<head>[_c<cycle>.<build>][_rsp<build>][_<extra>][-<architecture>]`; before it,
 * `exp_` marks an experiment. Whatever follows none is of the type Unknown, and never an error. Names of architectures
 * have no capitals: a tag with another suffix follows no convention.
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

type Groups = Readonly<Record<string, string | undefined>>
/** What a head says of an image. */
type Head = Pick<ImageTag, 'title' | 'version' | 'semantic' | 'dateMs'>

/** A head with what stands behind it, as texts. */
interface Reading extends Head, Pick<ImageTag, 'type' | 'base'> {
  readonly groups: Groups
}

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
  return imageTag(tag, hasForeignSuffix(tag) ? asItIs(tag) : readBody(body), architecture)
}

function readBody(body: string): Reading {
  const [, marks = '', rest = body] = /^((?:exp_)+)(.+)$/s.exec(body) ?? []
  const read = readConvention(rest) ?? readName(rest)
  if (marks === '') return read
  return { ...read, type: 'Experimental', title: 'Experimental '.repeat(marks.length / 4) + read.title }
}

/** Reads a tag that is known to be another name of some image. */
export function parseAlias(tag: string): ImageTag {
  const { body, architecture } = splitArchitecture(tag)
  const read = readName(body)
  return imageTag(tag, { ...read, type: 'Alias', title: titleCase(read.title) }, architecture)
}

/**
 * An alias, named after the image that it stands for: of the cycle of that, and of its date and architecture where the
 * alias has none yet.
 */
export function resolveAlias<T extends ImageTag>(alias: T, target: ImageTag): T {
  const architecture = alias.architecture ?? target.architecture
  // The numbers of a tag do not say how many digits it has.
  const { groups } = readBody(splitArchitecture(target.tag).body)
  const meant = [target.title, ...buildNames(groups)].join(', ')
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
    if (found) return { ...found, type, base: null, groups }
  }
  return null
}

/** A name of no convention, which may end with a cycle. */
function readName(text: string): Reading {
  const groups: Groups = /^(?<base>.+)_c(?<cycle>\d{1,9})(?:\.(?<cycleBuild>\d{1,9}))?$/s.exec(text)?.groups ?? {}
  return { ...asItIs(groups.base ?? text), groups }
}

/** A text in which nothing is looked for. */
function asItIs(text: string): Reading {
  return { type: 'Unknown', title: text, base: text, version: null, semantic: false, dateMs: null, groups: {} }
}

function imageTag(tag: string, read: Reading, architecture: string | null): ImageTag {
  const { type, title, version, semantic, dateMs, base, groups } = read
  const builds = {
    cycle: numberOf(groups.cycle),
    cycleBuild: numberOf(groups.cycleBuild),
    build: numberOf(groups.build),
  }
  const extra = groups.extra ?? null
  const builtFrom = buildNames(groups).map(name => ` (${name})`)
  const displayName = `${title}${builtFrom.join('')}${brackets(extra, architecture)}`
  return { tag, type, displayName, title, version, semantic, dateMs, base, ...builds, architecture, extra }
}

function numberOf(digits: string | undefined): number | null {
  return digits === undefined ? null : Number(digits)
}

function splitArchitecture(tag: string): { body: string; architecture: string | null } {
  const dash = tag.lastIndexOf('-')
  if (dash < 0 || dash === tag.length - 1 || hasForeignSuffix(tag)) return { body: tag, architecture: null }
  return { body: tag.slice(0, dash), architecture: tag.slice(dash + 1) }
}

/** Whether what stands where an architecture would has capitals. */
function hasForeignSuffix(tag: string): boolean {
  const dash = tag.lastIndexOf('-')
  return dash >= 0 && /[A-Z]/.test(tag.slice(dash))
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

function midnightOf(date: string): number | null {
  const midnight = new Date(date)
  // The thirtieth of February is taken for a day in March.
  return midnight.getUTCDate() === Number(date.slice(-2)) ? midnight.getTime() : null
}

/** With exactly the digits of the tag. */
function buildNames({ cycle, cycleBuild, build }: Groups): string[] {
  return [
    ...(cycle === undefined ? [] : [`SAL Cycle ${cycle}${cycleBuild === undefined ? '' : `, Build ${cycleBuild}`}`]),
    ...(build === undefined ? [] : [`RSP Build ${build}`]),
  ]
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
