/** Users of the installation: they make labs by its API, and all must succeed. */
import { systemClock } from '../../src/base/clock.ts'
import { asked, deleteLab, type LabDemo, makeLabDemo, spawnLab } from '../demo/lab.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import type { World } from './world.ts'

/** Minimum time for which labs are made, even when the commands take less. */
const leastMs = 10_000

/** Does the work; meanwhile makes and deletes labs of ada. Returns how many became complete and were deleted. */
export async function whileLabsAreMade(world: World, signal: AbortSignal, work: () => Promise<void>): Promise<number> {
  const demo = await labOf('ada', world, signal)
  const untilMs = systemClock.monotonicMs() + leastMs
  let isDone = false
  let labs = 0
  const making = (async () => {
    while (!isDone || systemClock.monotonicMs() < untilMs) {
      await spawnLab(demo, asked)
      await deleteLab(demo)
      labs += 1
    }
  })()
  const done = work().finally(() => {
    isDone = true
  })
  await Promise.all([done, making])
  return labs
}

/** Resolves when all of them run. */
export async function makeLabs(world: World, signal: AbortSignal, usernames: readonly string[]): Promise<void> {
  const make = async (username: string) => spawnLab(await labOf(username, world, signal), asked)
  await Promise.all(usernames.map(make))
}

/** Throws when one of the labs is unknown, or in another state. */
export async function assertLabsRun(world: World, signal: AbortSignal, usernames: readonly string[]): Promise<void> {
  for (const username of usernames) {
    const { admin } = await labOf(username, world, signal)
    const status = (await admin.status(username))?.status ?? 'missing'
    if (status !== 'running') throw new Error(`the lab of ${username} is ${status}`)
  }
}

async function labOf(username: string, { users, kubectl }: World, signal: AbortSignal): Promise<LabDemo> {
  return makeLabDemo({ username, url: await serviceUrl(kubectl), users, kubectl, json: true, signal })
}

/** The Service by its address, which this machine can reach. */
async function serviceUrl(kubectl: Kubectl): Promise<string> {
  const address = await kubectl(['get', 'service', 'skylab', '-n', 'skylab', '-o', 'jsonpath={.spec.clusterIP}'])
  return `http://${address.trim()}:8080`
}
