/** Clients leave their event stream again and again, and continue with `Last-Event-ID` at another replica. */
import { isDeepStrictEqual } from 'node:util'
import type { LabEvent } from '../../../src/base/domain.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

const userCount = isWhole ? 12 : 4
const hoppersPerUser = 3
/** Longest stay of a client. */
const stayMs = 1000
/** Each operation is held here for a while, so that clients can leave in the middle. */
const pauses = {
  create: ['make.namespace.before-act', 'make.secret.after-act', 'make.pod.before-act', 'finish.before-act'],
  delete: ['pod.before-act', 'namespace.after-act', 'finish.before-act'],
}
const pauseMs = 700

const isLast = ({ event }: LabEvent) => event === 'complete' || event === 'failed'

/** Reads an operation to its end, and changes the replica after each stay. */
async function hop(trial: Trial, fleet: Fleet, user: Client, first: number): Promise<LabEvent[]> {
  const events: LabEvent[] = []
  for (let hops = first; !events.some(isLast); hops++) {
    const lastEventId = events.at(-1)?.id
    const stream = await user.at(fleet.url(hops % fleet.size)).events({ lastEventId })
    if (lastEventId !== undefined) trial.injected()
    if (lastEventId !== undefined && stream.status === 200) trial.landed()
    const stay = setTimeout(() => stream.close(), stayMs * trial.random())
    for await (const event of stream) events.push(event)
    clearTimeout(stay)
  }
  return events
}

/** Number of missing ids, and of repeated ones. */
function count(events: readonly LabEvent[]): { gaps: number; repeats: number } {
  const seqs = events.map(({ id }) => Number(id!.split('-')[1]))
  const distinct = new Set(seqs)
  return { gaps: Math.max(...seqs) - distinct.size, repeats: seqs.length - distinct.size }
}

/** Sums over all clients. */
interface Tally {
  gaps: number
  repeats: number
}

/** Runs one slowed-down operation with its followers. Returns the stream as a client reads it that stays. */
async function followed(
  trial: Trial,
  fleet: Fleet,
  user: Client,
  kind: keyof typeof pauses,
  tally: Tally,
): Promise<LabEvent[]> {
  const arms = pauses[kind].map(place => fleet.arm(`lab.${kind}.${place}`, 'hold', { user: user.username }))
  for (const [i, arm] of arms.entries()) setTimeout(() => arm.release(), pauseMs * (i + 1))
  await (kind === 'create' ? user.create() : fleet.admin.delete(user.username))
  const hoppers = Array.from({ length: hoppersPerUser }, (_, i) => hop(trial, fleet, user, i))
  const { events } = await user.follow()
  for (const seen of await Promise.all(hoppers)) {
    const { gaps, repeats } = count(seen)
    tally.gaps += gaps
    tally.repeats += repeats
    if (!isDeepStrictEqual(seen, events)) trial.violation(`I4 ${user.username}: two clients read different streams`)
  }
  return [...events]
}

/** The ids that a client gets at once for a Last-Event-ID, from each replica. */
async function ask(fleet: Fleet, user: Client, lastEventId: string): Promise<(number | string[])[]> {
  return Promise.all(
    fleet.urls.map(async url => {
      const stream = await user.at(url).events({ lastEventId })
      if (stream.status !== 200) return stream.status
      const ids: string[] = []
      for await (const { id } of stream) ids.push(id!)
      return ids
    }),
  )
}

/** Ids of ended streams, of streams that never existed, and of other users' streams, sent to every replica. */
async function askForOthers(
  trial: Trial,
  fleet: Fleet,
  users: readonly Client[],
  streams: LabEvent[][][],
): Promise<void> {
  const [created, deleted] = streams[0]!
  const [foreign] = streams[1]!
  const ids = (events: readonly LabEvent[] | undefined) => events!.map(({ id }) => id!)
  const cases: readonly (readonly [string, string, number | string[]])[] = [
    ['the last of a stream that has ended', ids(deleted).at(-1)!, 204],
    ['the last of an operation before that', ids(created).at(-1)!, 204],
    ['in the middle of an operation before that', ids(created)[2]!, ids(created).slice(3)],
    ['of a stream that is gone', '1-1', 204],
    ['of another user', ids(foreign)[2]!, 204],
    ['beyond the end', `${ids(deleted)[0]!.split('-')[0]}-9999`, ids(deleted)],
    ['of nothing', 'nonsense', 400],
  ]
  for (const [what, id, expected] of cases) {
    trial.injected(fleet.size)
    for (const answer of await ask(fleet, users[0]!, id)) {
      trial.landed()
      if (!isDeepStrictEqual(answer, expected)) trial.violation(`I4 an id ${what}: ${JSON.stringify(answer)}`)
    }
  }
}

async function hopAbout(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(wave.waveFleet)
  const users = Array.from({ length: userCount }, () => fleet.user())
  const tally: Tally = { gaps: 0, repeats: 0 }
  const live = async (user: Client) => [
    await followed(trial, fleet, user, 'create', tally),
    await followed(trial, fleet, user, 'delete', tally),
  ]
  const streams = await Promise.all(users.map(live))
  for (const [name, value] of Object.entries(tally)) {
    trial.figure(name, value)
    if (value > 0) trial.violation(`I4 ${value} ${name}`)
  }
  await askForOthers(trial, fleet, users, streams)
  await wave.expectNothingLeft(fleet, users)
}

attack('T19 hopping from replica to replica', hopAbout, { concurrent: true })
