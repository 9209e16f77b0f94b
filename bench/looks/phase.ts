/** What replicas do and cost in a time in which nobody asks for anything. */
import { statSync } from 'node:fs'
import type { Replica } from '../../dev/stack/replicas.ts'
import { systemClock } from '../../src/base/clock.ts'
import { controllerRequests } from '../measure/audit.ts'
import type { BenchStack } from '../measure/bench-stack.ts'
import { boundOf, histogramBetween } from '../measure/histograms.ts'
import { callsOf, type Metrics, metricsOf } from '../measure/metrics.ts'
import { commandsBetween, commandsOf } from '../measure/redis.ts'
import { round, tally } from '../measure/statistics.ts'
import { cpuSeconds, memoryOf, restartPeak } from '../measure/usage.ts'
import type { Worker } from '../measure/worker.ts'
import type { FakesFigures, FakesQuestion } from './fakes.ts'

export interface PhaseOptions {
  readonly bench: BenchStack
  readonly replicas: readonly Replica[]
  readonly fakes: Worker
  readonly seconds: number
  /** Shortest period between two looks at a lab. */
  readonly periodMs: number
  readonly signal: AbortSignal
}

export interface PhaseFigures {
  readonly seconds: number
  readonly checks: number
  /** Seconds of processor time of all replicas. */
  readonly cpu_s: number
  /** Of each replica, in MiB. */
  readonly mib: { readonly now: readonly number[]; readonly at_most: readonly number[] }
  readonly [figure: string]: unknown
}

const lateness = 'skylab_idle_check_lateness_seconds'
const duration = 'skylab_idle_check_duration_seconds'
const checksOf = /^skylab_idle_checks_total\{kind="lab",result="(\w+)"\}$/
/** Of a period: less than that between two looks is a double check. */
const doubleShare = 0.9

export async function phase({
  bench,
  replicas,
  fakes,
  seconds,
  periodMs,
  signal,
}: PhaseOptions): Promise<PhaseFigures> {
  const ask = <T>(question: FakesQuestion) => fakes.ask<T>(question)
  const counted = async () => ({
    metrics: await Promise.all(replicas.map(metricsOf)),
    calls: await callsOf(replicas),
    commands: await commandsOf(bench.redis),
    cpu: replicas.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
  })
  const auditLog = bench.stack.cluster.auditLog!
  for (const { pid } of replicas) restartPeak(pid)
  const [from, before] = [statSync(auditLog).size, await counted()]
  await ask({ do: 'begin' })
  await systemClock.sleep(seconds * 1000, signal)
  const seen = await ask<FakesFigures>({ do: 'end', shortestMs: periodMs * doubleShare })
  const after = await counted()
  const results = commandsBetween(resultsOf(before.metrics), resultsOf(after.metrics))
  const checks = Object.values(results).reduce((sum, count) => sum + count, 0)
  const requests = await controllerRequests(auditLog, from)
  const memory = replicas.map(({ pid }) => memoryOf(pid))
  return {
    ...{ seconds, checks, cpu_s: round(after.cpu - before.cpu, 2) },
    checks_per_s: round(checks / seconds, 1),
    results,
    late_s: { fast: timesOf(before.metrics, after.metrics, lateness, 'lane="fast"'), slow: lateSlow(before, after) },
    check_s: timesOf(before.metrics, after.metrics, duration),
    fakes: seen,
    patches: requests.filter(({ verb }) => verb === 'patch').length,
    requests: tally(requests.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`)),
    redis: redisFigures(commandsBetween(before.commands, after.commands), seconds),
    redis_calls: commandsBetween(before.calls, after.calls),
    mib: {
      now: memory.map(({ nowMib }) => Math.round(nowMib)),
      at_most: memory.map(({ peakMib }) => Math.round(peakMib)),
    },
  }
}

interface Counted {
  readonly metrics: readonly Metrics[]
}

const lateSlow = (before: Counted, after: Counted) => timesOf(before.metrics, after.metrics, lateness, 'lane="slow"')

/** Bounds of buckets, in seconds. */
function timesOf(before: readonly Metrics[], after: readonly Metrics[], name: string, labels?: string): object {
  const histogram = histogramBetween(before, after, name, labels)
  return { p50: boundOf(histogram, 0.5), p99: boundOf(histogram, 0.99), most: boundOf(histogram, 1) }
}

/** Checks of all replicas by result. */
function resultsOf(all: readonly Metrics[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const [key, value] of all.flatMap(metrics => [...metrics])) {
    const result = checksOf.exec(key)?.[1]
    if (result !== undefined) counts[result] = (counts[result] ?? 0) + value
  }
  return counts
}

function redisFigures(commands: Readonly<Record<string, number>>, seconds: number): object {
  const all = Object.values(commands).reduce((sum, count) => sum + count, 0)
  return { commands_per_s: round(all / seconds, 1), scripts_per_s: round((commands.evalsha ?? 0) / seconds, 1) }
}
