/** Labs at rest, which a plain client made while no replica ran, and replicas that start beside them. */
import { waitUntil } from '../../dev/process/api-client.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { Replica } from '../../dev/stack/replicas.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { BenchStack } from '../measure/bench-stack.ts'
import { metricsOf } from '../measure/metrics.ts'
import type { LoopQuestion } from '../spawn/loop.ts'

/** A compare of many labs may take longer than the start of a replica usually does. */
const readyLimitMs = 600_000
const scrapeMs = 500
const compareSum = 'skylab_compare_duration_seconds_sum{result="done"}'

export interface StandingContext {
  readonly bench: BenchStack
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Makes labs of Skylab's as the loop makes its own; resolves with the seconds. `bare`: namespaces and pods alone. */
export async function fillLabs({ worker, stack, users }: BenchStack, { bare = false } = {}): Promise<number> {
  const loop = worker(new URL('../spawn/loop.ts', import.meta.url), 'loop')
  const ask = (question: LoopQuestion) => loop.ask<number>(question)
  const names = users.map(({ name }) => name)
  await ask({ do: 'prepare', configFile: stack.configFile, users: names, of: 'skylab', bare })
  const seconds = await ask({ do: 'create', users: names })
  await loop.stop()
  return seconds
}

export interface StartedReplica {
  readonly replica: Replica
  readonly readySeconds: number
}

/** Resolves when it is ready; the run ends it. */
export async function startReplica(
  { bench: { stack, stateDir }, progress, signal }: StandingContext,
  name: string,
  configFile = stack.configFile,
): Promise<StartedReplica> {
  const begunMs = systemClock.monotonicMs()
  const say = (words: string) => progress.say(words)
  const replica = await Replica.start({ name, program: stack.program, stateDir, configFile, restart: false, say })
  await replica.ready(signal, readyLimitMs)
  return { replica, readySeconds: (systemClock.monotonicMs() - begunMs) / 1000 }
}

/** Waits until a compare has made the records of all labs; resolves with its seconds. */
export async function untilCompared(replicas: readonly Replica[], labs: number, signal: AbortSignal): Promise<number> {
  let seconds = 0
  const isDone = async () => {
    const metrics = await Promise.all(replicas.map(metricsOf))
    // The other replicas compare too, and find nothing to do.
    seconds = Math.max(...metrics.map(each => each.get(compareSum) ?? 0))
    await systemClock.sleep(scrapeMs, signal)
    return metrics[0]!.get('skylab_labs{status="running"}') === labs && seconds > 0
  }
  await waitUntil(isDone, { what: 'the compare', limitMs: readyLimitMs, signal })
  return seconds
}
