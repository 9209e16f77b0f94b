/** A fleet whose replicas run toys beside labs, with the toys' world and their client. */
import type { Trial } from '../../kit/attack/attack.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import { toy, worldVariable } from '../../kit/toy/context.ts'
import { judgeToys } from '../../kit/toy/judge.ts'
import { Toys } from '../../kit/toy/toys.ts'
import { ToyWorld } from '../../kit/toy/world.ts'
import { scanIntervalMs, ttlMs } from './wave.ts'

const fleetOf = (world: string, { config, ...more }: FleetOptions): FleetOptions => ({
  kinds: [toy],
  env: { [worldVariable]: world },
  config: { ...config, engine: { room: 64, leaseTtlMs: ttlMs, scanIntervalMs } },
  ...more,
})

/** Runs the body with such a fleet. The toys are judged at its end. */
export async function withToys(
  trial: Trial,
  more: FleetOptions,
  body: (fleet: Fleet, toys: Toys, world: ToyWorld) => Promise<void>,
) {
  const world = await ToyWorld.start()
  trial.context.onTestFinished(() => world.stop())
  const fleet = await trial.fleet(fleetOf(world.url, more))
  const toys = new Toys(fleet)
  try {
    await body(fleet, toys, world)
    const { violations, operations } = await judgeToys(fleet, toys, world, fleet.expectations)
    for (const violation of violations) trial.violation(`toys: ${violation}`)
    trial.figure('toy_operations', operations)
  } finally {
    toys.close()
  }
}
