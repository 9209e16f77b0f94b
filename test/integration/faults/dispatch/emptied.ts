/** dispatch V12: Redis is emptied. The same runs go on, none is restarted, and none is denied. */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { attackInFull } from '../in-full.ts'
import { isWhole } from '../points.ts'
import { insist, Site, until } from './shared.ts'

/** Asks for these containers all the time, and notes each answer that denies one. */
class Askers {
  readonly denied: string[] = []
  readonly answers = new Map<number, number>()
  #ends = false
  readonly #work: Promise<unknown>

  constructor(site: Site, uuids: readonly string[]) {
    this.#work = Promise.all(site.fleet.replicas.map((_, index) => this.#ask(site, uuids, index)))
  }

  async #ask({ fleet }: Site, uuids: readonly string[], index: number): Promise<void> {
    for (let i = 0; !this.#ends; i++) {
      const uuid = uuids[i % uuids.length]!
      const response = await fleet.rest('admin', `/dispatch/admin/v1/containers/${uuid}`, {}, index)
      this.answers.set(response.status, (this.answers.get(response.status) ?? 0) + 1)
      if (response.status !== 200 && response.status !== 503)
        this.denied.push(`${uuid} was answered ${response.status}`)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  async end(): Promise<void> {
    this.#ends = true
    await this.#work
  }
}

type Loss = 'emptied' | 'restarted empty'

async function lose({ fleet }: Site, how: Loss): Promise<void> {
  if (how === 'emptied') {
    await fleet.client.flushall()
    return
  }
  await fleet.redis.kill()
  await fleet.redis.start()
}

/** Containers of two machines run; nothing else goes on. */
async function loseAtRest(trial: Trial, how: Loss): Promise<void> {
  const site = await Site.start(trial)
  const uuids = [await site.submit(), await site.submit({ vcpus: 2 })]
  for (const uuid of uuids) await site.running(uuid)
  const askers = new Askers(site, uuids)
  trial.injected()
  await lose(site, how)
  await until(() => askers.answers.has(503)).toBe(true)
  trial.landed()
  for (const uuid of uuids) await site.running(uuid)
  // It dispatches again.
  await site.running(await insist(() => site.submit()))
  await askers.end()
  for (const words of askers.denied) trial.violation(`V12 denied: ${words}`)
  trial.figure('answers', Object.fromEntries(askers.answers))
  await site.judge()
}

const points = [
  ...['instance.create.create.before-send', 'instance.create.create.after-send', 'instance.create.create.after-act'],
  ...['instance.create.serve.before-act', 'instance.create.serve.after-act'],
  ...['instance.create.destroy.before-send', 'instance.create.finish.before-commit'],
  ...['schedule.decided', 'schedule.written', 'sweep.read'],
]
const few = ['instance.create.create.after-send', 'instance.create.serve.before-act', 'instance.create.serve.after-act']

/** Redis is emptied while a step is held. A container that only waited may be lost with it. */
async function loseAmid(site: Site, trial: Trial, point: string): Promise<void> {
  const { fleet, witness } = site
  const kept = await insist(() => site.submit())
  await site.running(kept)
  const arm = fleet.failpoints.arm(point, 'hold')
  const uuid = await insist(() => site.submit({ as: 'any' }))
  if (/destroy|finish/.test(point)) {
    await site.running(uuid)
    witness.letGo(uuid)
  }
  trial.injected()
  await arm.landed(1, 60_000)
  await fleet.client.flushall()
  const { status } = await fleet.rest('admin', `/dispatch/admin/v1/containers/${kept}`)
  if (status === 503) trial.landed()
  else trial.violation(`V12 amid ${point}, ${kept} was answered ${status}`)
  arm.release()
  await site.running(kept)
  witness.letGo(kept)
  await until(() => site.stateOf(kept)).toBe('Complete')
  // The next loss takes it too.
  site.expect({ uuid: kept, as: 'any' })
  witness.letGo(uuid)
  await until(() => fleet.list().catch(() => 'comparing')).toEqual([])
}

attack('dispatch V12 Redis emptied at rest', trial => loseAtRest(trial, 'emptied'), { concurrent: true })
if (isWhole)
  attack('dispatch V12 Redis restarted empty at rest', trial => loseAtRest(trial, 'restarted empty'), {
    concurrent: true,
  })
attackInFull(
  'dispatch V12 Redis emptied amid steps',
  async trial => {
    const site = await Site.start(trial)
    for (const point of isWhole ? points : few) await loseAmid(site, trial, point)
    await site.judge()
  },
  { concurrent: true, limitMs: 600_000 },
)
