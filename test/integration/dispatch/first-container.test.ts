/** Containers on machines of this host: real processes, a real Redis, real SSH. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'

const patience = { timeout: 120_000, interval: 50 }

let fleet: DispatchFleet
beforeAll(async () => {
  fleet = await DispatchFleet.start()
})
afterAll(() => fleet?.stop())

const stateOf = async (uuid: string) => (await fleet.find(uuid)).state

test('a container runs on a machine that is made for it, and the machine ends when it is idle', async () => {
  const file = join(fleet.stateDir, 'first.txt')
  const uuid = await fleet.submit({
    command: ['sh', '-c', `echo "$WORDS" | tee ${file}`],
    environment: { WORDS: 'hello' },
  })
  await expect.poll(() => stateOf(uuid), patience).toBe('Complete')
  expect(await fleet.find(uuid)).toMatchObject({ exitCode: 0, runs: 1, instanceType: 'small' })
  expect(readFileSync(file, 'utf8')).toBe('hello\n')
  expect(await fleet.output(uuid)).toBe('hello\n')
  await expect.poll(() => fleet.list(), patience).toEqual([])
  expect(await fleet.broken()).toEqual([])
})
