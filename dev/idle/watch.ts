/** Leaves the labs of all people alone, prints what happens, and tells what came of each. */
import { systemClock } from '../../src/base/clock.ts'
import { stamps } from '../../src/kube/labels.ts'
import { labNames } from '../../src/labs/names.ts'
import { namespacePrefix } from '../demo/lab.ts'
import type { DemoOptions } from '../demo/options.ts'
import { roundSeconds, say } from '../demo/say.ts'
import { waitUntil } from '../process/api-client.ts'
import { ActivityClient } from './client.ts'
import { type Person, people } from './people.ts'
import { type Place, quietLab } from './place.ts'
import type { LabOutcome } from './report.ts'

export interface Watching {
  readonly options: DemoOptions
  readonly signal: AbortSignal
  readonly place: Place
  readonly idleTimeoutSeconds: number
}

/** How long the others are watched after the time-out: several checks. */
const afterTimeoutMs = 20_000
const stopLimitMs = 180_000

export async function watch(watching: Watching): Promise<readonly LabOutcome[]> {
  const { options, signal, idleTimeoutSeconds } = watching
  const stopped = new Map<string, number>()
  const news = follow(watching)
  const leftMs = systemClock.monotonicMs()
  const since = () => roundSeconds(systemClock.monotonicMs() - leftMs)
  await Promise.all(people.map(person => leave(watching, person)))
  say(options, `All are left alone. A lab ends after ${idleTimeoutSeconds} s without activity.\n`)
  const ends = people.map(async ({ name, isStopped }) => {
    if (!isStopped) return
    await gone(watching, name)
    stopped.set(name, since())
    say(options, `  ${String(since()).padStart(6)} s  ${name}: the lab is gone\n`)
  })
  await Promise.all(ends)
  const restMs = leftMs + idleTimeoutSeconds * 1000 + afterTimeoutMs - systemClock.monotonicMs()
  if (restMs > 0) await systemClock.sleep(restMs, signal)
  news.end()
  return Promise.all(people.map(person => outcomeOf(watching, person, stopped.get(person.name) ?? null)))
}

const clientOf = ({ place: { stack }, signal }: Watching, name: string) =>
  new ActivityClient({ url: stack.url, token: stack.users[name]!.token, signal })

/** Prints the events of all labs as they come. */
function follow(watching: Watching): { readonly end: () => void } {
  const begunMs = systemClock.monotonicMs()
  let isOver = false
  const read = async () => {
    for await (const { event, data } of clientOf(watching, 'admin').events()) {
      if (isOver) return
      const at = String(roundSeconds(systemClock.monotonicMs() - begunMs)).padStart(6)
      const until = data.eligibleAfter === undefined ? '' : `, until ${data.eligibleAfter.slice(11, 19)}`
      say(watching.options, `  ${at} s  ${data.id}: ${event}${until}\n`)
    }
  }
  read().catch(() => {})
  return {
    end: () => {
      isOver = true
    },
  }
}

async function leave(watching: Watching, person: Person): Promise<void> {
  const { place } = watching
  const { namespace, lab } = labNames(namespacePrefix, person.name)
  const stamp = async () => {
    const now = new Date(systemClock.wallMs()).toISOString()
    await place.kubectl(['annotate', 'pod', lab, '-n', namespace, `${stamps.stopped}=${now}`])
  }
  await person.leave({ jupyter: await place.jupyter(person.name), activity: clientOf(watching, person.name), stamp })
}

const isGone = async ({ place, signal }: Watching, name: string): Promise<boolean> =>
  (await quietLab(place, name, signal).admin.status(name)) === null

const gone = (watching: Watching, name: string): Promise<void> =>
  waitUntil(() => isGone(watching, name), {
    ...{ what: `the end of the lab of ${name}`, limitMs: stopLimitMs },
    signal: watching.signal,
  })

async function outcomeOf(watching: Watching, person: Person, afterSeconds: number | null): Promise<LabOutcome> {
  const { name: lab, does } = person
  const stopped = await isGone(watching, lab)
  // A lab that kubectl has stopped was not stopped for idleness.
  const view = await clientOf(watching, 'admin')
    .find(lab)
    .catch(() => undefined)
  const why = stopped
    ? (view?.stopped?.why ?? 'its pod was stamped by hand')
    : `kept: ${view?.keepUntil === undefined ? `active by ${view?.source}` : 'on request'}`
  const hub = (await watching.place.hub?.view(lab, stopped)) ?? null
  return { lab, does, state: view?.state ?? 'stopped', stopped, why, afterSeconds, hub }
}
