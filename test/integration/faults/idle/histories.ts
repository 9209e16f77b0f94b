/**
 * idle K1: users work, pause, report and ask for time at random. A reference says of each stop what the last look was shown and
 * what Redis had acknowledged: nobody is stopped who was busy then, or was used within the time-out. Who stays away is stopped.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import {
  busy,
  calm,
  type IdleLab,
  idleFleet,
  keep,
  pause,
  rule,
  silent,
  startLab,
  startLabs,
  touch,
  untilMustered,
} from './labs.ts'
import { type Stop, Stops } from './stops.ts'

const timeoutMs = 2_000
const labCount = isWhole ? 24 : 3
const historyMs = isWhole ? 120_000 : 8_000
/** A period, the pause after a stop that was refused, and as long for a busy machine. */
const endMs = timeoutMs + 1_100 + 5_000 + 5_000
/** Both clocks are of this machine, and each stop is logged after its script. */
const slackMs = 5

/** What is known of a lab without asking any replica. */
interface Reference {
  lab: IdleLab
  /** Sent by the user before the answer `kept`, at the latest. */
  usedMs: number
  /** Granted for certain. */
  keptMs: number
}

type Act = (reference: Reference) => Promise<unknown>

async function come(reference: Reference): Promise<void> {
  const sentMs = Date.now()
  if ((await touch(reference.lab)) === 'kept') reference.usedMs = sentMs
}

async function askForTime(reference: Reference): Promise<void> {
  const sentMs = Date.now()
  if ((await keep(reference.lab, 3)) === 'kept') reference.keptMs = sentMs + 3_000
}

const acts: readonly Act[] = [
  async ({ lab }) => lab.fake.behave(busy()),
  async ({ lab }) => lab.fake.behave({ kernels: [{ state: 'idle', lastMs: Date.now() }] }),
  async ({ lab }) => lab.fake.behave({ terminals: [Date.now()] }),
  async ({ lab }) => lab.fake.behave({ kernels: [{ state: 'dead', lastMs: Date.now() }] }),
  async ({ lab }) => lab.fake.behave({ status: 503 }),
  async ({ lab }) => lab.fake.behave(silent),
  come,
  come,
  askForTime,
]

/** Why a stop was wrong; undefined if it was right. */
function wrong({ lab, usedMs, keptMs }: Reference, { atMs, podUid }: Stop): string | undefined {
  if (podUid !== lab.podUid) return 'it was another pod'
  const kernels = lab.fake.asked.filter(({ path, atMs: askedMs }) => path.includes('/api/kernels') && askedMs <= atMs)
  const behaviour = kernels.at(-1)?.behaviour
  if (behaviour === undefined || typeof behaviour === 'string') return 'nothing was shown'
  if (!('kernels' in behaviour) && !('terminals' in behaviour) && Object.keys(behaviour).length > 0)
    return 'it was unknown'
  const { kernels: shown = [], terminals = [] } = behaviour as Exclude<
    typeof behaviour,
    { status: number } | { redirectTo: string }
  >
  if (shown.some(({ state }) => state === 'busy')) return 'it was busy'
  const times = [...shown.filter(({ state }) => state === 'idle').map(({ lastMs }) => lastMs), ...terminals, usedMs]
  const idleMs = atMs - Math.max(...times)
  if (idleMs < timeoutMs - slackMs) return `it was idle for ${idleMs} ms`
  return keptMs - slackMs > atMs ? 'it was kept' : undefined
}

/** One user's days. By chance nobody stays away in a short run: one user always does so first. */
async function live(trial: Trial, first: IdleLab, stops: Stops, endsMs: number, begins: boolean): Promise<IdleLab> {
  const reference: Reference = { lab: first, usedMs: Date.now(), keptMs: 0 }
  let judged = 0
  // Everybody works for longer than the time-out first.
  await pause(2 * timeoutMs)
  for (;;) {
    const isOver = performance.now() >= endsMs
    const { name, fleet, user, fake } = reference.lab
    const stop = (await stops.of(name)).filter(({ result }) => result === 'requested')[judged]
    if (stop) {
      judged += 1
      const why = wrong(reference, stop)
      if (why !== undefined) trial.violation(`${name} was stopped, and ${why}`)
      trial.injected()
      trial.landed()
      if ((await user.follow()).outcome !== 'complete') trial.violation(`the stop of ${name} failed`)
      fake.behave(busy())
      reference.lab = await startLab(trial, fleet, { user, fake })
      Object.assign(reference, { usedMs: Date.now(), keptMs: 0 })
      await untilMustered(fleet, [reference.lab])
    }
    if (isOver) return reference.lab
    if ((begins && judged === 0) || trial.random() < 0.2) await stayAway(trial, reference, stops, judged)
    else await acts[Math.floor(trial.random() * acts.length)]!(reference)
    await pause(trial.random() * 1_500)
  }
}

/** Nobody comes, and nothing runs: the lab is stopped in time. */
async function stayAway(trial: Trial, reference: Reference, stops: Stops, judged: number): Promise<void> {
  const { lab, keptMs } = reference
  const { name } = lab
  // One that did not answer is looked at less often.
  if (lab.fake.asked.at(-1)?.behaviour !== undefined && 'status' in Object(lab.fake.asked.at(-1)!.behaviour)) return
  lab.fake.behave(silent)
  const fromMs = Math.max(Date.now(), keptMs)
  const isStopped = async () => (await stops.of(name)).filter(({ result }) => result === 'requested').length > judged
  await eventually(`the stop of ${name}`, isStopped, fromMs - Date.now() + endMs).catch(() =>
    trial.violation(`${name} was idle for ${Date.now() - fromMs} ms, and is not stopped`),
  )
}

async function histories(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(idleFleet([rule({ idleTimeoutSeconds: timeoutMs / 1000 })]))
  const stops = new Stops(fleet)
  const labs = await startLabs(trial, fleet, labCount)
  await untilMustered(fleet, labs)
  const endsMs = performance.now() + historyMs
  const last = await Promise.all(labs.map((lab, index) => live(trial, lab, stops, endsMs, index === 0)))
  calm(last)
  trial.figure('stops', (await stops.requested()).length)
  trial.figure('refused', stops.all.filter(({ result }) => result === 'changed').length)
}

attack('idle K1 random histories', histories, { limitMs: 400_000, concurrent: !isWhole })
