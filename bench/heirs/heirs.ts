/**
 * One of the replicas is killed while many creations wait for their pods: how long until others own its operations.
 * docs/bench.md explains the result.
 *   npm run bench -- heirs [--labs 1000] [--replicas 3]
 */
import { waitUntil } from '../../dev/process/api-client.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Config } from '../../src/config/schema.ts'
import { readConfig } from '../../src/settings/config-file.ts'
import { Keys } from '../../src/store/keys.ts'
import { type BenchStack, settle, setupBench, withBenchStack } from '../measure/bench-stack.ts'
import { openCrowd } from '../measure/crowd.ts'
import { machine } from '../measure/machine.ts'
import { metricsOf } from '../measure/metrics.ts'
import { numbersOf } from '../measure/options.ts'
import { percentile, round, tally } from '../measure/statistics.ts'

const defaults = { labs: 1000, replicas: 3 }

interface Scene {
  readonly bench: BenchStack
  readonly keys: Keys
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** The only node: it takes no pods until all creations have their new owners. KWOK's nodes have room for 5,000 pods. */
const node = 'kwok-1'
/** Pods must not be given up before. */
const times = { spawnTimeoutSeconds: 7200, noRoomGraceSeconds: 7200 }
const waitLimitMs = 600_000
const pollMs = 50

export async function heirsBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const { labs, replicas } = numbersOf(args, defaults)
  const tools = await setupBench(1, progress, signal)
  const conditions = { labs, replicas, ...machine() }
  const context = { tools, progress, signal, kwok: 1, users: labs, replicas, overrides: { times } }
  const figures = await withBenchStack(context, async bench => {
    const config = await readConfig(bench.stack.configFile)
    return heirs({ bench, keys: new Keys(config.redis.keyPrefix), progress, signal }, config)
  })
  return { bench: 'heirs', conditions, ...figures }
}

async function heirs(scene: Scene, { engine }: Config): Promise<object> {
  const { bench, progress } = scene
  const { users } = bench
  await admitPods(bench, false)
  const loading = openCrowd(bench).ask({ users })
  const early = loading.then(() => Promise.reject(new Error('all labs ended before their node took pods')))
  early.catch(() => {})
  await progress.part('labs that wait', () => Promise.race([allWait(scene), early]))
  const taken = await progress.part('new owners', () => Promise.race([takeOver(scene), early]))
  await admitPods(bench, true)
  const { outcomes, streamsWithGaps } = await progress.part('their ends', () => loading)
  const [ttlSeconds, scanSeconds] = [engine.leaseTtlMs / 1000, engine.scanIntervalMs / 1000]
  return {
    ...taken,
    // The goal: everything is taken over within a lease, a scan, and 5 s.
    limit_s: ttlSeconds + scanSeconds + 5,
    outcomes: tally(outcomes),
    lost: outcomes.filter(outcome => outcome !== 'complete').length,
    streams_with_gaps: streamsWithGaps,
  }
}

const admitPods = ({ stack }: BenchStack, admits: boolean): Promise<void> =>
  stack.cluster.apply(
    JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: node }, spec: { unschedulable: !admits } }),
  )

/** A field of each user's record, in the order of users. */
async function fieldsOf({ bench: { redis, users }, keys }: Scene, field: string): Promise<(string | null)[]> {
  const pipeline = redis.pipeline()
  for (const { name } of users) pipeline.hget(keys.record(name), field)
  return (await pipeline.exec())!.map(([, value]) => value as string | null)
}

/** Resolves when each creation has made its pod, and nothing is left to do. */
async function allWait(scene: Scene): Promise<void> {
  const { bench, signal } = scene
  const haveAll = async () => (await fieldsOf(scene, 'podUid')).every(Boolean)
  await waitUntil(haveAll, { what: 'pods that wait', limitMs: waitLimitMs, signal })
  await settle(bench, signal)
}

/** Kills the first replica for good. An operation has a new owner when another token is in its record. */
async function takeOver(scene: Scene): Promise<object> {
  const victim = scene.bench.stack.replicas[0]!
  const owned = (await metricsOf(victim)).get('skylab_replica_operations{subject_kind="lab"}')!
  const before = await fieldsOf(scene, 'token')
  const begunMs = systemClock.monotonicMs()
  await victim.stop(0)
  const [ops, tookMs]: [Set<number>, number[]] = [new Set(), []]
  const limitMs = begunMs + waitLimitMs
  while (ops.size < owned && systemClock.monotonicMs() < limitMs) {
    const tokens = await fieldsOf(scene, 'token')
    const nowMs = systemClock.monotonicMs()
    for (const [index, token] of tokens.entries()) {
      if (token === before[index] || ops.has(index)) continue
      ops.add(index)
      tookMs.push(nowMs - begunMs)
    }
    await systemClock.sleep(pollMs, scene.signal)
  }
  const seconds = (share: number) => round(percentile(tookMs, share) / 1000, 2)
  return { owned_by_the_killed: owned, taken_over: ops.size, taken_over_s: { p50: seconds(0.5), last: seconds(1) } }
}
