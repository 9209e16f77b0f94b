/** Checks of the block `idle`, and warnings about rules that do nothing. */
import { globs } from '../base/glob.ts'
import type { IdleRule, WorkloadKind } from '../config/idle.ts'
import type { Config } from '../config/schema.ts'

type Rules = readonly IdleRule[]
type Kinds = readonly WorkloadKind[]

/** From taking a workload on, the time until another replica follows is 20 s; a check asks twice before a stop. */
const longestProbeSeconds = 15

/** @returns one line for each setting by which checks could not keep their times, or that nobody can have meant */
export function idleProblems({ idle, run }: Pick<Config, 'idle' | 'run'>): string[] {
  const { enabled, checkPeriodSeconds, restPeriodSeconds, probeTimeoutSeconds, cpuPeriodSeconds, rules } = idle
  const owned = ownedKinds(run)
  return [
    ...(run.includes('notebooks') && !enabled ? ['idle.enabled: is false, so this process would do nothing'] : []),
    ...(restPeriodSeconds < checkPeriodSeconds ? ['idle.restPeriodSeconds: is less than idle.checkPeriodSeconds'] : []),
    ...(probeTimeoutSeconds > longestProbeSeconds
      ? [`idle.probeTimeoutSeconds: is more than ${longestProbeSeconds}: another replica would follow meanwhile`]
      : []),
    ...rules.flatMap((rule, index) => [
      ...nameProblems(rules, index),
      ...timeProblems(rule, `idle.rules.${index}`),
      ...sourceProblems(rule, `idle.rules.${index}`, owned),
      ...trafficProblems(rule, `idle.rules.${index}`),
      ...cpuProblems(rule, `idle.rules.${index}`, cpuPeriodSeconds),
    ]),
  ]
}

/** People read the name where a workload was stopped. */
function nameProblems(rules: Rules, index: number): string[] {
  const first = rules.findIndex(({ name }) => name === rules[index]!.name)
  return first < index ? [`idle.rules.${index}.name: is the name of idle.rules.${first} too`] : []
}

/** With a longer warning, somebody who has just worked would be warned. */
function timeProblems({ idleTimeoutSeconds, maxAgeSeconds, warnSeconds }: IdleRule, key: string): string[] {
  return Object.entries({ idleTimeoutSeconds, maxAgeSeconds }).flatMap(([name, seconds]) =>
    seconds !== undefined && warnSeconds >= seconds
      ? [`${key}.warnSeconds: is not less than ${key}.${name}, so there is always a warning`]
      : [],
  )
}

const asked: ReadonlySet<string> = new Set(['kernels', 'terminals', 'server', 'metric', 'json'])

/** A gateway sees all traffic of an app. Nobody reports all activity of other kinds: a busy one would count as idle. */
function sourceProblems({ match, sources, idleTimeoutSeconds }: IdleRule, key: string, owned: Kinds): string[] {
  const kind = owned.find(each => each !== 'app' && mayBe(match, each))
  if (kind === undefined || idleTimeoutSeconds === undefined || sources.some(source => asked.has(source))) return []
  return [`${key}.sources: names none by which a ${kind} is asked, so a busy one would count as idle`]
}

const mayBe = ({ kinds }: IdleRule['match'], kind: WorkloadKind): boolean => kinds === undefined || kinds.includes(kind)

/** By the last flush of a gateway, and the silence after which it asks first, a use can be unreported for 47 s. */
const shortestOfTraffic = 60

function trafficProblems({ match: { kinds }, sources, idleTimeoutSeconds }: IdleRule, key: string): string[] {
  const isApart = !kinds?.includes('app') || !sources.includes('traffic') || idleTimeoutSeconds === undefined
  if (isApart || idleTimeoutSeconds >= shortestOfTraffic) return []
  return [`${key}.idleTimeoutSeconds: is less than ${shortestOfTraffic}, so traffic could be reported too late`]
}

const measured: Kinds = ['lab', 'app']

/** What was measured counts for three periods: who was busy between two lists must be seen before the time is over. */
function cpuProblems(
  { match: { kinds }, sources, idleTimeoutSeconds = Number.POSITIVE_INFINITY }: IdleRule,
  key: string,
  periodSeconds: number,
): string[] {
  if (!sources.includes('cpu')) return []
  return [
    ...(kinds && !kinds.some(kind => measured.includes(kind))
      ? [`${key}.sources: names cpu, which is measured of labs and apps alone`]
      : []),
    ...(idleTimeoutSeconds <= 3 * periodSeconds
      ? [`${key}.idleTimeoutSeconds: is not more than three idle.cpuPeriodSeconds, so cpu could be seen too late`]
      : []),
  ]
}

/** @returns warnings: permitted settings that an operator should know about */
export function idleWarnings(config: Config): string[] {
  const { run, idle } = config
  if (!idle.enabled) return []
  const owned = ownedKinds(run)
  if (owned.length === 0) return ['idle.enabled: has no effect, since this process runs nothing that is ever idle']
  if (idle.rules.length === 0) return ['idle.rules: is empty, so nothing is ever stopped']
  return [
    ...idle.rules.flatMap((rule, index) => [
      ...ageWarnings(rule, `idle.rules.${index}`),
      ...shadowWarnings(idle.rules, index),
      ...(run.includes('labs') ? sizeWarnings(rule, `idle.rules.${index}`, config.lab) : []),
    ]),
    ...(run.includes('labs') ? credentialWarnings(config) : []),
    ...(run.includes('notebooks') ? idle.rules.flatMap(traitWarnings) : []),
    ...(run.includes('apps') ? idle.rules.flatMap(appWarnings) : []),
  ]
}

/** The kinds of workloads that a process owns by `run`. */
export function ownedKinds(run: Config['run']): Kinds {
  if (run.includes('labs')) return ['lab']
  if (run.includes('apps')) return ['app']
  return run.includes('notebooks') ? ['notebook', 'statefulset'] : []
}

/** What is known of labs alone. */
const labTraits = ['sizes', 'users', 'groups'] as const

/** Nothing is known of a notebook but its namespace, the tenant of that, and its image. */
function traitWarnings({ match }: IdleRule, index: number): string[] {
  const isOurs = mayBe(match, 'notebook') || mayBe(match, 'statefulset')
  return labTraits
    .filter(trait => isOurs && match[trait] !== undefined)
    .map(
      trait => `idle.rules.${index}.match.${trait}: no notebook and no StatefulSet has any, so it never matches here`,
    )
}

/** Jupyter's own sources, which most apps have not. One that does not answer is never idle. */
const jupyter: ReadonlySet<string> = new Set(['kernels', 'terminals', 'server'])

function appWarnings({ match, sources }: IdleRule, index: number): string[] {
  if (!mayBe(match, 'app')) return []
  const of = sources.filter(source => jupyter.has(source))
  return [
    ...(match.users ? [`idle.rules.${index}.match.users: no app has one, so it never matches here`] : []),
    ...(of.length > 0
      ? [
          `idle.rules.${index}.sources: names ${of.join(', ')}, so an app that is no Jupyter is never stopped for idleness`,
        ]
      : []),
  ]
}

function ageWarnings({ maxAgeSeconds, keepAlive, idleTimeoutSeconds }: IdleRule, key: string): string[] {
  if (maxAgeSeconds === undefined) return []
  return [
    ...(keepAlive.maxSeconds > maxAgeSeconds
      ? [`${key}.keepAlive.maxSeconds: is more than ${key}.maxAgeSeconds, which ends every request to be kept`]
      : []),
    ...(idleTimeoutSeconds !== undefined && idleTimeoutSeconds >= maxAgeSeconds
      ? [`${key}.idleTimeoutSeconds: is not less than ${key}.maxAgeSeconds, so nothing is stopped for being idle`]
      : []),
  ]
}

/** A rule behind one that matches all of its kinds. */
function shadowWarnings(rules: Rules, index: number): string[] {
  const { kinds } = rules[index]!.match
  const covers = ({ match: { kinds: theirs, ...others } }: IdleRule) =>
    Object.values(others).every(patterns => patterns === undefined) &&
    (theirs === undefined || (kinds?.every(kind => theirs.includes(kind)) ?? false))
  const before = rules.slice(0, index).findIndex(covers)
  return before < 0 ? [] : [`idle.rules.${index}: never matches, since idle.rules.${before} matches all of it before`]
}

const matcher = globs()

function sizeWarnings({ match: { kinds, sizes = [] } }: IdleRule, key: string, lab: Config['lab']): string[] {
  if (kinds && !kinds.includes('lab')) return []
  return sizes.flatMap((pattern, index) =>
    Object.keys(lab.sizes).some(matcher([pattern]))
      ? []
      : [`${key}.match.sizes.${index}: ${pattern} is no size of lab.sizes`],
  )
}

const namesOfVariables = globs({ ignoreCase: true })

function credentialWarnings({ idle, lab }: Config): string[] {
  const isHidden = namesOfVariables(lab.secretPatterns)
  return idle.credentialVariables.flatMap((name, index) =>
    isHidden(name)
      ? []
      : [`idle.credentialVariables.${index}: no pattern of lab.secretPatterns matches ${name}, so clients can read it`],
  )
}
