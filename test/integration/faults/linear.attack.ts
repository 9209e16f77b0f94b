/** T23: concurrent creations, deletions and ends of labs through three replicas are linearizable. */
import fc from 'fast-check'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { type Asked, type Exchange, isLinearizable } from '../../kit/attack/linear.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

/** Requests sent at once, each through its own replica, and whether the next group waits for the end of all. */
interface Round {
  readonly sent: readonly { readonly asked: Asked; readonly replica: number }[]
  readonly settle: boolean
}

const size = isWhole ? { users: 40, rounds: 4, batches: 5 } : { users: 24, rounds: 3, batches: 1 }
const settleLimitMs = 60_000

const asked = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Asked>('create') },
  { weight: 2, arbitrary: fc.constant<Asked>('delete') },
  { weight: 1, arbitrary: fc.constantFrom<Asked>('cull', 'status') },
)
const round: fc.Arbitrary<Round> = fc.record({
  sent: fc.array(fc.record({ asked, replica: fc.nat(2) }), { minLength: 2, maxLength: 4 }),
  settle: fc.boolean(),
})
const program = fc.array(round, { minLength: 1, maxLength: size.rounds })

async function answerTo(asked: Asked, fleet: Fleet, user: Client, url: string): Promise<string | null> {
  if (asked === 'create') return String((await user.at(url).create()).status)
  if (asked === 'delete') return String((await fleet.admin.at(url).delete(user.username)).status)
  if (asked === 'status') {
    const { status, body } = await user.at(url).userStatus()
    return status === 404 ? 'none' : body.status
  }
  // Without a pod nothing can end.
  return fleet.world.setPodStatus(user.username, { phase: 'Succeeded' }).then(
    () => '',
    () => null,
  )
}

/** Runs a program for a user of its own. Returns its requests and answers. */
async function play(fleet: Fleet, user: Client, rounds: readonly Round[]): Promise<Exchange[]> {
  const history: Exchange[] = []
  const ask = async (asked: Asked, replica: number) => {
    const sentMs = performance.now()
    const answer = await answerTo(asked, fleet, user, fleet.url(replica))
    if (answer === null) return undefined
    const exchange = { asked, answer, sentMs, answeredMs: performance.now() }
    history.push(exchange)
    return exchange
  }
  for (const { sent, settle } of rounds) {
    await Promise.all(sent.map(({ asked, replica }) => ask(asked, replica)))
    if (!settle) continue
    const isSettled = async () => !/pending|terminating/.test((await ask('status', 0))!.answer)
    await eventually('a settled lab', isSettled, settleLimitMs)
  }
  return history
}

const overlaps = (history: readonly Exchange[]) =>
  history.some((one, i) =>
    history.slice(i + 1).some(other => one.sentMs < other.answeredMs && other.sentMs < one.answeredMs),
  )

const described = (history: readonly Exchange[]) =>
  history.map(
    ({ asked, answer, sentMs, answeredMs }) => `${asked} ${answer} ${sentMs.toFixed(1)}-${answeredMs.toFixed(1)}`,
  )

/** The smallest program that fails in the same way, searched for at most a minute. */
async function shrink(fleet: Fleet, failing: Round[]): Promise<string> {
  const property = fc.asyncProperty(program, async rounds => isLinearizable(await play(fleet, fleet.user(), rounds)))
  const found = await fc.check(property, { examples: [[failing]], numRuns: 1, interruptAfterTimeLimit: 60_000 })
  return JSON.stringify(found.counterexample?.[0] ?? failing)
}

async function atOnce(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ ...wave.waveFleet, users: size.users * size.batches + 40 })
  const programs = fc.sample(program, { seed: trial.seed, numRuns: size.users * size.batches })
  const answers: string[] = []
  for (let i = 0; i < programs.length; i += size.users) {
    const players = programs.slice(i, i + size.users).map(rounds => ({ rounds, user: fleet.user() }))
    await Promise.all(
      players.map(async ({ rounds, user }) => {
        const history = await play(fleet, user, rounds)
        // Without overlapping requests there was no blow: a lab cannot end before it has a pod.
        if (overlaps(history)) {
          trial.injected()
          trial.landed()
        }
        for (const { asked, answer, sentMs, answeredMs } of history) {
          answers.push(`${asked} ${answer}`)
          if (asked === 'create' || asked === 'delete') trial.took(answeredMs - sentMs)
        }
        if (isLinearizable(history)) return
        trial.violation(
          `not as if one after another: ${described(history).join(', ')}; smallest: ${await shrink(fleet, rounds)}`,
        )
      }),
    )
    await wave.expectNothingLeft(
      fleet,
      players.map(({ user }) => user),
    )
  }
  trial.figure(
    'answers',
    Object.fromEntries([...Map.groupBy(answers, each => each)].map(([name, all]) => [name, all.length])),
  )
}

attack('T23 at once from three replicas', atOnce, { concurrent: true, limitMs: 300_000 })
