/**
 * No request overtakes another for long when hundreds come at once. The attack leaves its namespaces, which the cluster
 * removes one after another in minutes. It is therefore the last project on the cluster.
 */
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import { attack } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'

const seconds = 1000
const many = isWhole ? 600 : 100
const places = 24

attack(
  `${many} accepted at once are claimed in their order`,
  async trial => {
    const times = { noRoomGraceSeconds: 2 }
    const engine = { leaseTtlMs: 15_000, room: isWhole ? places : places / 6 }
    const fleet = await trial.fleet({ users: many, config: { times, engine, redis: { commandTimeoutMs: 5000 } } })
    const order = await watchOrder(fleet)
    const users = Array.from({ length: many }, () => fleet.user())
    trial.injected(many)
    const answers = await Promise.all(
      users.map(async user => {
        const begunMs = performance.now()
        const { status } = await user.create()
        trial.took(performance.now() - begunMs)
        return status
      }),
    )
    trial.landed(answers.filter(status => status === 303).length)
    await eventually('a claim of each operation', async () => order.claimed.length >= many, 240 * seconds)
    const totalRoom = fleet.size * engine.room
    const displacements = order.claimed.map((user, i) => Math.abs(order.accepted.indexOf(user) - i))
    const within = displacements.filter(by => by <= totalRoom).length / many
    trial.figure('totalRoom', totalRoom)
    trial.figure('within', Number(within.toFixed(3)))
    trial.figure('worst', Math.max(...displacements))
    order.close()
    expect(within).toBeGreaterThanOrEqual(0.95)
    await eventually(
      'all have ended',
      async () => (await fleet.world.redis.zcard(fleet.world.keys.deadlines)) === 0,
      240_000,
    )
  },
  { limitMs: 540_000 },
)

/** Users in the order in which Redis received their acceptances and first claims. */
async function watchOrder({ redis, world }: Fleet) {
  const [accepted, claimed] = [new Set<string>(), new Set<string>()]
  const prefix = world.keys.record('')
  const close = await monitor(redis.url, ([command, key, field, value]) => {
    if (!key?.startsWith(prefix)) return
    const user = key.slice(prefix.length)
    if (command?.toUpperCase() === 'HINCRBY' && field === 'claims') claimed.add(user)
    if (command?.toUpperCase() === 'HSET' && field === 'op' && value !== undefined) accepted.add(user)
  })
  return {
    get accepted() {
      return [...accepted]
    },
    get claimed() {
      return [...claimed]
    },
    close,
  }
}

/**
 * Calls back for every command that Redis carries out from now on. Returns what ends this. The client has this too, but
 * it mistakes data that come in one piece with the OK for unexpected replies.
 */
async function monitor(url: string, onCommand: (command: readonly string[]) => void): Promise<() => void> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) }, () => socket.write('MONITOR\r\n'))
  const began = Promise.withResolvers<void>()
  socket.once('error', began.reject)
  createInterface({ input: socket }).on('line', line => {
    if (line === '+OK') began.resolve()
    else onCommand([...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word!))
  })
  await began.promise
  return () => socket.destroy()
}
