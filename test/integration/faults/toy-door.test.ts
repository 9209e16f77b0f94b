/** Toys that replicas accept at their own doors, by the parts of the kind, as the API accepts labs. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { attack } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Toys } from '../../kit/toy/toys.ts'
import type { ToyWorld } from '../../kit/toy/world.ts'
import { withToys } from './toy-fleet.ts'
import { logged } from './wave.ts'

const toyCount = 6

async function ask(toys: Toys, world: ToyWorld, replica: string, method: 'POST' | 'DELETE', name: string) {
  const path = method === 'POST' ? `labs/${name}/create` : `labs/${name}`
  const call = toys.recorder.call({ by: replica, method, path, url: replica })
  const body = method === 'POST' ? JSON.stringify({ color: 'red' }) : null
  const response = await fetch(`${world.doors.get(replica)}/${name}?nonce=${randomUUID()}`, { method, body })
  const accepted = (await response.json()) as { answer: string; op: number }
  call.answered(method === 'POST' ? 303 : 202, undefined)
  expect([response.status, accepted.answer]).toEqual([200, 'accepted'])
  return accepted.op
}

attack(
  'toys at the doors of replicas',
  trial =>
    withToys(trial, { replicas: 2 }, async (fleet, toys, world) => {
      const replicas = ['replica-1', 'replica-2']
      await eventually('a door of each replica', async () => replicas.every(replica => world.doors.has(replica)))
      trial.injected(toyCount)
      await Promise.all(
        Array.from({ length: toyCount }, async (_, i) => {
          const name = toys.name()
          const [first, second] = i % 2 === 0 ? replicas : replicas.toReversed()
          await ask(toys, world, first!, 'POST', name)
          // Every third deletion supersedes the creation.
          if (i % 3 < 2) expect((await toys.follow(name)).outcome).toBe('complete')
          const op = await ask(toys, world, second!, 'DELETE', name)
          expect(await toys.follow(name)).toMatchObject({ op, outcome: 'complete' })
          expect(world.home(name)).toBeUndefined()
        }),
      )
      trial.landed(toyCount)
      const accepted = await Promise.all([0, 1].map(index => logged(fleet, index, 'operation accepted')))
      expect(accepted.map(lines => lines.length)).toEqual([toyCount, toyCount])
    }),
  { limitMs: 120_000 },
)
