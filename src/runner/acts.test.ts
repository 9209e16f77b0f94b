import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { specOf, uuidOf, warrantOf } from '../../test/kit/runner/machine.ts'
import { systemClock } from '../base/clock.ts'
import { Acts } from './acts.ts'
import { Runs } from './runs.ts'
import { Machine } from './state/machine.ts'

const uuid = uuidOf(1)
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'skylab-acts-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

/** As another process of the machine has them. */
async function acts(): Promise<Acts> {
  const machine = await Machine.open(dir)
  return new Acts({ machine, runs: new Runs(machine, systemClock), env: process.env })
}

// The watch of the fence ends an older connection too, but later: the comparison inside the gate alone is certain.
it.each<[string, (old: Acts) => Promise<unknown>]>([
  ['start', old => old.start(warrantOf(uuid, 1, specOf('true')))],
  ['kill', old => old.kill(uuid, 1)],
  ['list', old => old.list()],
  ['ack', old => old.ack(uuid, 1, 1, 1)],
])('Acts compares the fence at each %s', async (_, act) => {
  const [old, next] = [await acts(), await acts()]
  await expect(act(old)).rejects.toMatchObject({ why: 'epoch' })
  await old.hello(7)
  await next.hello(8)
  await expect(act(old)).rejects.toMatchObject({ why: 'epoch' })
  await expect(old.hello(7)).rejects.toMatchObject({ why: 'epoch' })
  expect(readdirSync(join(dir, 'runs'))).toEqual([])
})

it('Acts lets one connection act when two say hello at once', async () => {
  const both = [await acts(), await acts()]
  await Promise.all(both.map(each => each.hello(7)))
  const lists = await Promise.allSettled(both.map(each => each.list()))
  expect(lists.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})
