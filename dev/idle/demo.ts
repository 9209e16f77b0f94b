/**
 * `npm run demo -- --idle [--hub]`: five labs are left alone. Those that nobody uses end, after a warning; busy ones never. With
 * a Hub people log in to it, and it shows what was stopped.
 */
import { systemClock } from '../../src/base/clock.ts'
import type { DemoOptions } from '../demo/options.ts'
import { howToEnd } from '../demo/report.ts'
import { roundSeconds, say } from '../demo/say.ts'
import { hubAccount } from '../hub/platform.ts'
import { aborted } from '../process/program.ts'
import { createProgress, type Progress } from '../process/progress.ts'
import { withLabsAlone } from './alone.ts'
import { withLabsAtHub } from './at-hub.ts'
import { people } from './people.ts'
import type { Place } from './place.ts'
import { type IdleReport, renderOutcomes, requireOutcomes } from './report.ts'
import { watch } from './watch.ts'

export const rule = { idleTimeoutSeconds: 60, warnSeconds: 20 }

/** Checks as often as a demo wants them. A site has a minute, and a time-out of hours. */
export const idle = {
  enabled: true,
  checkPeriodSeconds: 3,
  restPeriodSeconds: 6,
  rules: [{ name: 'demo', ...rule, keepAlive: { maxSeconds: 3600 } }],
}

interface Context {
  readonly options: DemoOptions
  readonly progress: Progress
  readonly signal: AbortSignal
}

export async function demoOfIdleness(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const begunMs = systemClock.monotonicMs()
  const withLabs = options.hub === null ? withLabsAlone : withLabsAtHub
  const report = await withLabs({ options, idle, progress, signal }, place =>
    show({ options, progress, signal }, place, roundSeconds(systemClock.monotonicMs() - begunMs)),
  )
  if (options.once && options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  return 0
}

async function show({ options, progress, signal }: Context, place: Place, setup: number): Promise<IdleReport> {
  const begunMs = systemClock.monotonicMs()
  const way = place.hub === null ? '' : `, who log in to the Hub at ${place.hub.url}`
  say(options, `\nA lab for each of ${people.map(({ name }) => name).join(', ')}${way}:\n`)
  await Promise.all(people.map(({ name }) => place.spawn(name)))
  const spawnedMs = systemClock.monotonicMs()
  const { idleTimeoutSeconds } = rule
  const labs = await watch({ options, signal, place, idleTimeoutSeconds })
  progress.summary()
  say(options, `\n${renderOutcomes(labs)}\n`)
  const seconds = {
    ...{ setup, spawn: roundSeconds(spawnedMs - begunMs) },
    watched: roundSeconds(systemClock.monotonicMs() - spawnedMs),
  }
  const report = { ...reportOf(place), labs, seconds }
  requireOutcomes(labs)
  if (options.once) return report
  if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  progress.say(howToEnd())
  await aborted(signal)
  return report
}

function reportOf({ stack, hub }: Place): Omit<IdleReport, 'labs' | 'seconds'> {
  const users = Object.entries(stack.users).filter(([name]) => name !== hubAccount)
  return {
    ...{ url: stack.url, kubeconfig: stack.cluster.kubeconfig, rule },
    hub: hub && { url: hub.url, logs: hub.logs },
    users: Object.fromEntries(users.map(([name, { token }]) => [name, { token }])),
  }
}
