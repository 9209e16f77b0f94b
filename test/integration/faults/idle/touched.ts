/**
 * idle K3: a user comes back between the look that shows their lab as idle and the script that stops it. Whoever is first is
 * kept, whoever is second reads that it is being stopped: the reply and the answer of the script must agree.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { isWhole } from '../points.ts'
import {
  busy,
  calm,
  type IdleLab,
  idleFleet,
  isRunning,
  keep,
  makeDueOnce,
  pause,
  type Reply,
  rule,
  scoreOf,
  silent,
  startLab,
  startLabs,
  touch,
  untilMustered,
} from './labs.ts'
import { type Stop, Stops } from './stops.ts'

const labCount = isWhole ? 16 : 4
const roundsEach = isWhole ? 24 : 2
/** The time-out of the rule, and a little. */
const overMs = 1_100
/** A machine that is too busy holds a replica for longer than a look is good for. */
const maxTries = 6

interface Story {
  readonly point: 'idle.looked' | 'idle.stopping'
  /** `first`: answered before the replica goes on; `race`: both at once. */
  readonly order: 'first' | 'race'
  readonly come: (lab: IdleLab) => Promise<Reply>
}

const stories: readonly Story[] = [
  { point: 'idle.stopping', order: 'race', come: touch },
  { point: 'idle.stopping', order: 'first', come: touch },
  { point: 'idle.looked', order: 'first', come: touch },
  { point: 'idle.stopping', order: 'race', come: touch },
  { point: 'idle.stopping', order: 'first', come: lab => keep(lab, 1) },
  { point: 'idle.looked', order: 'race', come: touch },
]

interface Pair {
  readonly reply: Reply
  readonly stop: Stop
}

/** Holds a check of an idle lab, lets its user come, and lets the check go on. @returns undefined if no script was sent */
async function meet(
  lab: IdleLab,
  stops: Stops,
  { point, order, come }: Story,
  wait: number,
): Promise<Pair | undefined> {
  const { fleet, name } = lab
  const arm = fleet.arm(point, 'hold', { user: `lab:${name}` })
  lab.fake.behave(silent)
  await pause(overMs)
  const before = (await stops.of(name)).length
  if (arm.marks().length === 0) await makeDueOnce(fleet, name)
  await arm.landed()
  const score = await scoreOf(fleet, name)
  const coming = order === 'race' ? pause(wait).then(() => come(lab)) : come(lab)
  if (order === 'first') await coming
  arm.release()
  const reply = await coming
  const isOver = async () => {
    const standing = await scoreOf(fleet, name)
    // Another token: the check has ended. Without one the stop was requested, and the replica is about to say so.
    return standing !== null && standing !== score
  }
  const stop = await stops.next(name, before, isOver)
  arm.disarm()
  return stop && { reply, stop }
}

/** On a busy machine a user comes when the pod is gone already: then there is no lab to keep. */
const isTold = (reply: Reply) => reply === 'stopping' || reply === 'none'

async function judge(trial: Trial, lab: IdleLab, { reply, stop }: Pair, words: string): Promise<void> {
  const isStopped = stop.result === 'requested'
  if (reply === 'kept' && isStopped) trial.violation(`${words}: kept by the reply, and stopped`)
  else if (isTold(reply) && !isStopped) trial.violation(`${words}: told ${reply}, and not stopped`)
  else if (reply !== 'kept' && !isTold(reply)) trial.violation(`${words}: the reply was ${reply}`)
  if (isStopped && stop.podUid !== lab.podUid) trial.violation(`${words}: another pod was stopped`)
  if (!isStopped && !(await isRunning(lab))) trial.violation(`${words}: ${stop.result}, and it runs no more`)
}

interface Counts {
  kept: number
  told: number
  /** No script was sent, since the look was too old. */
  late: number
}

/** One user, in all stories by turns, who begins anew where the lab was stopped. */
async function live(trial: Trial, first: IdleLab, stops: Stops, index: number, counts: Counts): Promise<IdleLab> {
  let lab = first
  for (let round = 0; round < roundsEach; round++) {
    const story = stories[(index + round) % stories.length]!
    trial.injected()
    let pair: Pair | undefined
    for (let tries = 0; !pair && tries < maxTries; tries++) {
      pair = await meet(lab, stops, story, trial.random() * 6)
      if (!pair) counts.late += 1
    }
    if (!pair) continue
    trial.landed()
    await judge(trial, lab, pair, `${story.point} ${story.order} ${lab.name}`)
    counts[pair.reply === 'kept' ? 'kept' : 'told'] += 1
    if (pair.stop.result !== 'requested') continue
    if ((await touch(lab)) === 'kept') trial.violation(`${lab.name}: kept after its stop was requested`)
    const { outcome } = await lab.user.follow()
    if (outcome !== 'complete') trial.violation(`the stop of ${lab.name}: ${outcome}`)
    // Until its next check is held, it works.
    lab.fake.behave(busy())
    lab = await startLab(trial, lab.fleet, { user: lab.user, fake: lab.fake })
    await untilMustered(lab.fleet, [lab])
  }
  return lab
}

async function touched(trial: Trial): Promise<void> {
  // Checks that the story does not ask for come only where it is slow.
  const fleet = await trial.fleet(idleFleet([rule()], { checkPeriodSeconds: 3600, restPeriodSeconds: 3600 }))
  const stops = new Stops(fleet)
  const labs = await startLabs(trial, fleet, labCount)
  await untilMustered(fleet, labs)
  const counts: Counts = { kept: 0, told: 0, late: 0 }
  const last = await Promise.all(labs.map((lab, index) => live(trial, lab, stops, index, counts)))
  calm(last)
  for (const [name, count] of Object.entries(counts)) trial.figure(name, count)
  if (counts.kept === 0) trial.violation('nobody came first')
  if (isWhole && counts.told === 0) trial.violation('nobody came second')
}

attack('idle K3 a user who comes back between look and stop', touched, { limitMs: 600_000, concurrent: !isWhole })
