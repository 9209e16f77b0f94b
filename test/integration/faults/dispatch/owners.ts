/** dispatch V9: an operation has one owner, also when replicas are stopped past their lease, or cut off from Redis. */
import { attack } from '../../../kit/attack/attack.ts'
import { attackInFull } from '../in-full.ts'
import { isWhole } from '../points.ts'
import { points } from './killed.ts'
import { Site, until } from './shared.ts'

const ofMachines = points.filter(point => point.startsWith('instance.create.'))
const few = [
  'instance.create.create.before-send',
  'instance.create.serve.after-act',
  'instance.create.destroy.before-send',
]

attack(
  'dispatch V9 stopped past the lease',
  async trial => {
    const site = await Site.start(trial, { replicas: 2, cloud: { TimeoutIdle: '1s' } })
    for (const point of isWhole ? ofMachines : few) {
      trial.injected()
      const stop = site.fleet.failpoints.arm(point, 'stop')
      const uuid = await site.submit()
      if (/destroy|serve.*commit/.test(point)) site.witness.letGo(uuid)
      const { pid, user, replica } = await stop.landed(1, 60_000)
      const stopped = site.owner(user!)
      // Another one has it now.
      await until(async () => (await site.owner(user!)) !== (await stopped)).toBe(true)
      trial.landed()
      process.kill(pid, 'SIGCONT')
      const gaveUp = () => site.logged(replica, user!).includes('operation is no longer ours')
      await until(gaveUp)
        .toBe(true)
        .catch(() => trial.violation(`V9 stopped at ${point}, it never gives up`))
      await site.begun(uuid)
      site.witness.letGo(uuid)
      await until(() => site.stateOf(uuid)).toBe('Complete')
      await until(() => site.fleet.list()).toEqual([])
    }
    await site.judge()
  },
  { concurrent: true, limitMs: 600_000 },
)

attackInFull(
  'dispatch V9 cut off from Redis',
  async trial => {
    const site = await Site.start(trial, { replicas: 2, proxies: true })
    const uuids = [await site.submit(), await site.submit()]
    for (const uuid of uuids) await site.running(uuid)
    for (const [index, proxy] of site.fleet.proxies.entries()) {
      if ((await site.metric('skylab_dispatch_owned ', index)) === 0) continue
      const before = await site.owners()
      trial.injected()
      proxy.silence()
      await until(async () => {
        const now = await site.owners()
        return [...now].some(([name, token]) => token !== before.get(name))
      }).toBe(true)
      trial.landed()
      proxy.resume()
    }
    for (const uuid of uuids) await site.running(uuid)
    await site.judge()
  },
  { concurrent: true },
)
