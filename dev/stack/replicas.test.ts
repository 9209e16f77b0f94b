import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Replica, type ReplicaOptions } from './replicas.ts'

let stateDir: string
let options: ReplicaOptions
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'replica-'))
  const configFile = join(stateDir, 'skylab.yaml')
  // An unknown key makes `skylab serve` end at once.
  await writeFile(configFile, 'nonsense: true\n')
  options = { stateDir, configFile, name: 'replica-1' }
})
afterEach(() => rm(stateDir, { recursive: true, force: true }))

describe('Replica', () => {
  it('is started again 2 s after its end, with the same port', async () => {
    const clock = new ManualClock()
    const said: string[] = []
    const replica = await Replica.start({ ...options, clock, say: words => said.push(words) })
    const { pid, port } = replica
    await clock.whenSleeping(2000)
    expect(said).toEqual(['replica-1 has ended (2); restart in 2 s'])
    clock.advance(2000)
    await clock.whenSleeping(2000)
    expect(replica.pid).not.toBe(pid)
    expect(replica.port).toBe(port)
    await replica.stop(0)
  })

  it('stays ended when restarts are off, and after stop', async () => {
    const clock = new ManualClock()
    const replica = await Replica.start({ ...options, clock, restart: false })
    expect(await replica.ended).toBe(2)
    await replica.stop(0)
    const stopped = await Replica.start({ ...options, clock })
    await stopped.stop(0)
    expect(clock.sleeps).toBe(0)
  })

  it('reports why it never became ready', async () => {
    const replica = await Replica.start(options)
    await expect(replica.ready()).rejects.toThrow(/replica-1 has ended:\n.*nonsense/s)
    await replica.stop(0)
  })
})
