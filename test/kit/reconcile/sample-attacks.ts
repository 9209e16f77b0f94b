/** Shared parts of the attacks on declarations. */
import { systemClock } from '../../../src/base/clock.ts'
import type { Trial } from '../attack/attack.ts'
import { SampleFleet, type SampleFleetOptions } from './sample-fleet.ts'
import { excess } from './sample-state.ts'

/** Limit for a right that outlives its wish. */
const revokedLimitMs = 1_000

/** Starts a fleet that ends with the test. */
export async function startFleet(trial: Trial, options?: SampleFleetOptions): Promise<SampleFleet> {
  const fleet = await SampleFleet.start(options)
  trial.context.onTestFinished(() => fleet.stop())
  return fleet
}

/** Takes a right away, and measures for how long it stays. */
export const revoke = (trial: Trial, fleet: SampleFleet, name: string, members: readonly string[]) =>
  untilRevoked(trial, fleet, name, () => fleet.edit(name, { members }))

/** Rights of the former parent are no rights of the next one, even if both name the same people. */
export const remake = (trial: Trial, fleet: SampleFleet, name: string, members: readonly string[]) =>
  untilRevoked(trial, fleet, name, async () => {
    await fleet.drop(name)
    await fleet.create(name, { members })
  })

async function untilRevoked(
  trial: Trial,
  fleet: SampleFleet,
  name: string,
  act: () => Promise<unknown>,
): Promise<void> {
  trial.injected()
  await act()
  const begunMs = performance.now()
  while (excess(await fleet.read(name))) await systemClock.sleep(10)
  const ms = performance.now() - begunMs
  trial.took(ms)
  trial.landed()
  if (ms > revokedLimitMs) trial.violation(`the revocation took ${Math.round(ms)} ms`)
}
