/**
 * Tags of images by the convention of SQR-059: their parts, display names and order. Pure.
 *
 * A tag that follows the convention is `<head>[_c<cycle>.<build>][_rsp<build>][_<extra>][-<architecture>]`; before it,
 * `exp_` marks an experiment. Every other tag is of the type Unknown, and never an error. Names of architectures have
 * no capitals: a tag with another suffix follows no convention.
 */
import type { Version } from './version.ts'
import { compareVersions, formatVersion } from './version.ts'

/** In the order of lists. */
export const tagTypes = ['Alias', 'Release', 'Weekly', 'Daily', 'Release Candidate', 'Experimental', 'Unknown'] as const
export type TagType = (typeof tagTypes)[number]

/** The parts of a tag; null if a tag lacks one. */
export interface ImageTag {
  readonly tag: string
  readonly type: TagType
  /** The display name; never empty. */
  readonly displayName: string
  /** The beginning of the display name: the image without its builds and architecture. */
  readonly title: string
  /** For a daily or weekly its date, which sorts like a version. */
  readonly version: Version | null
  /** Whether the version is that of a release, not a date. */
  readonly semantic: boolean
  /** The day of a daily, the Thursday of a weekly's ISO week: its midnight in UTC, in milliseconds of Unix time. */
  readonly dateMs: number | null
  /** The name in place of a version. */
  readonly base: string | null
  /** Version of the interfaces that the image was built for (SAL). */
  readonly cycle: number | null
  readonly cycleBuild: number | null
  /** Build of the image itself (RSP). */
  readonly build: number | null
  readonly architecture: string | null
  readonly extra: string | null
}

type Groups = Readonly<Record<string, string | undefined>>
/** The properties of an image that a head contains. */
type Head = Pick<ImageTag, 'title' | 'version' | 'semantic' | 'dateMs'>

/** A head with the parts after it, as texts. */
interface Reading extends Head, Pick<ImageTag, 'type' | 'base'> {
  readonly groups: Groups
}

interface Convention {
  readonly type: TagType
  readonly form: RegExp
  /** @returns null for a date that does not exist */
  readonly head: (groups: Groups) => Head | null
}

/** Numbers have at most nine digits, far below where doubles lose precision. */
const number = (name: string) => `(?<${name}>\\d{1,9})`
const builds = `(?:_c${number('cycle')}\\.${number('cycleBuild')})?(?:_rsp${number('build')})?(?:_(?<extra>.+))?`
const formOf = (head: string) => new RegExp(`^${head}${builds}$`)

const triple = `r${number('major')}_${number('minor')}_${number('patch')}`
const dayMs = 86_400_000

/** The first match counts: a release candidate would also match a release with extra text. */
const conventions: readonly Convention[] = [
  {
    type: 'Release Candidate',
    form: formOf(`${triple}_(?<prerelease>rc\\d{1,9})`),
    head: groups => releaseHead('Release Candidate', groups),
  },
  { type: 'Release', form: formOf(triple), head: groups => releaseHead('Release', groups) },
  // The former form of releases: r170 is 17.0.
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

/** Parses a tag of a repository, some of whose tags are known aliases. */
export function readTag(tag: string, aliasTags: ReadonlySet<string>): ImageTag {
  return aliasTags.has(tag) ? parseAlias(tag) : parseTag(tag)
}

/** Parses any tag. An empty text is `latest`, as in pulling. */
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

/** Parses a tag that is a known alias. */
export function parseAlias(tag: string): ImageTag {
  const { body, architecture } = splitArchitecture(tag)
  const read = readName(body)
  return imageTag(tag, { ...read, type: 'Alias', title: titleCase(read.title) }, architecture)
}

/**
 * Completes an alias by its image: with the cycle, and with date and architecture if the alias has none. The display
 * name contains the image's.
 */
export function resolveAlias<T extends ImageTag>(alias: T, target: ImageTag): T {
  const architecture = alias.architecture ?? target.architecture
  // Numbers do not show how many digits the tag has.
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
 * The order of SQR-059: by type, then the latest first. Below zero if the first is before the other. Equivalent tags
 * are ordered by their text, so no two tags are equal.
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

/** A name that follows no convention, and may end with a cycle. */
function readName(text: string): Reading {
  const groups: Groups = /^(?<base>.+)_c(?<cycle>\d{1,9})(?:\.(?<cycleBuild>\d{1,9}))?$/s.exec(text)?.groups ?? {}
  return { ...asItIs(groups.base ?? text), groups }
}

/** A text that is not parsed. */
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

/** Whether the suffix in place of an architecture has capitals. */
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

/** The Thursday of an ISO week, which is always in the week's own year; null if that year has no such week. */
function thursdayOf(year: string, week: number): number | null {
  // The fourth of January is in the first week of every year.
  const fourth = new Date(`${year}-01-04`)
  const daysSinceMonday = (fourth.getUTCDay() + 6) % 7
  const thursday = fourth.getTime() + (3 - daysSinceMonday + 7 * (week - 1)) * dayMs
  return new Date(thursday).getUTCFullYear() === Number(year) ? thursday : null
}

function midnightOf(date: string): number | null {
  const midnight = new Date(date)
  // Date turns February 30 into a day in March.
  return midnight.getUTCDate() === Number(date.slice(-2)) ? midnight.getTime() : null
}

/** With the exact digits of the tag. */
function buildNames({ cycle, cycleBuild, build }: Groups): string[] {
  return [
    ...(cycle === undefined ? [] : [`SAL Cycle ${cycle}${cycleBuild === undefined ? '' : `, Build ${cycleBuild}`}`]),
    ...(build === undefined ? [] : [`RSP Build ${build}`]),
  ]
}

function brackets(...texts: (string | null)[]): string {
  return texts.map(text => (text === null ? '' : ` [${text}]`)).join('')
}

/** `latest_weekly` becomes Latest Weekly. */
function titleCase(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.replace(/[A-Za-z]+/g, word => word[0]!.toUpperCase() + word.slice(1).toLowerCase())
}

/** A name is above all versions: it has a base, and versions have none. */
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

/** None is the highest: the image for every architecture precedes those for one. */
function compareArchitectures(one: string | null, other: string | null): number {
  return one === null || other === null ? compareTexts(other, one) : compareTexts(one, other)
}
