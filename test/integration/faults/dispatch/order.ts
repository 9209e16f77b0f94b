/** dispatch V11: of containers that need the same, the one with the higher priority begins first, then the older one. */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import type { DispatchFleetOptions } from '../../../kit/dispatch/fleet.ts'
import { attackInFull } from '../in-full.ts'
import { isWhole } from '../points.ts'
import { Site, until } from './shared.ts'

interface Wish {
  readonly uuid: string
  readonly priority: number
  readonly atMs: number
}

interface Begun extends Wish {
  /** When its command began, by this computer's clock. */
  readonly begunMs: number
}

/** What is on its way when another one comes may still begin. */
const graceMs = isWhole ? 1_500 : 4_000
/** For two that were sent at the same time. In small size nine other fleets run beside: a process starts late. */
const sameTimeMs = isWhole ? 300 : 1_000

/**
 * Pairs in the wrong order: the one that begins first has less priority, or is younger, though the other one waited already.
 * Both began after the grace, so a decision that was made before counts for nothing.
 * @param toleratedMs for two that were sent at the same time
 */
export function inversions(all: readonly Begun[], toleratedMs: number): readonly string[] {
  const order = all.toSorted((a, b) => a.begunMs - b.begunMs)
  return order.flatMap((early, i) =>
    order
      .slice(i + 1)
      .filter(
        late =>
          isBefore(late, early) && late.atMs + graceMs < early.begunMs && late.begunMs > early.begunMs + toleratedMs,
      )
      .map(late => `${early.uuid} (${early.priority}) began before ${late.uuid} (${late.priority})`),
  )
}

const isBefore = (one: Wish, other: Wish) =>
  one.priority > other.priority || (one.priority === other.priority && one.uuid < other.uuid)

async function submitAll(site: Site, trial: Trial, count: number): Promise<Wish[]> {
  const wishes: Wish[] = []
  while (wishes.length < count) {
    const priority = 1 + Math.floor(trial.random() * 5) * 200
    const seconds = Number((0.2 + 0.6 * trial.random()).toFixed(2))
    const uuid = await site.submit({ priority, seconds })
    wishes.push({ uuid, priority, atMs: Date.now() })
    trial.injected()
    // Some come at once, some while others run.
    if (trial.random() < 0.3) await new Promise(resolve => setTimeout(resolve, 600 * trial.random()))
  }
  return wishes
}

async function keepOrder(trial: Trial, options: DispatchFleetOptions, toleratedMs = sameTimeMs): Promise<void> {
  const site = await Site.start(trial, { replicas: 3, ...options })
  const wishes = await submitAll(site, trial, isWhole ? 60 : 12)
  for (const { uuid } of wishes) await until(() => site.stateOf(uuid)).toBe('Complete')
  const begun = wishes.map(wish => ({ ...wish, begunMs: site.witness.begins(wish.uuid)[0]!.atMs }))
  trial.landed(begun.length)
  for (const words of inversions(begun, toleratedMs)) trial.violation(`V11 ${words}`)
  await site.judge()
}

const limits = { concurrent: true, limitMs: 300_000 }

attack('dispatch V11 order', trial => keepOrder(trial, { cloud: { MaxInstances: 3 } }), limits)

attackInFull(
  'dispatch V11 order on machines for two',
  trial =>
    keepOrder(
      trial,
      {
        types: { medium: { VCPUs: 2, RAM: '8GiB', Price: 0.2 } },
        cloud: { MaxInstances: 2, MaxRunningContainersPerInstance: 2 },
      },
      // A machine starts them one after another.
      1_000,
    ),
  limits,
)
