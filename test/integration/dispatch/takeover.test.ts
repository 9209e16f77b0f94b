/** Containers on machines go on while replicas die: REST at any of them, real processes, real SSH. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'

const patience = { timeout: 120_000, interval: 50 }

let fleet: DispatchFleet
beforeAll(async () => {
  fleet = await DispatchFleet.start({ replicas: 3 })
})
afterAll(() => fleet?.stop())

const stateOf = async (uuid: string) => (await fleet.find(uuid)).state
const until = (what: () => unknown) => expect.poll(what, patience)

/** Waits for a file, and says its own pid before and after. */
const waiting = (name: string) => {
  const [begun, go, ended] = ['begun', 'go', 'ended'].map(what => join(fleet.stateDir, `${name}.${what}`)) as [
    ...[string, string, string],
  ]
  const script = `echo $$ > ${begun}.part; mv ${begun}.part ${begun}; while [ ! -e ${go} ]; do sleep 0.1; done; echo $$ >> ${ended}`
  return { begun, go, ended, command: ['sh', '-c', script] }
}

test('a container goes on in the same process when the replica that keeps its machine is killed', async () => {
  const { begun, go, ended, command } = waiting('kept')
  const body = {
    ...{ command, container_image: 'busybox', priority: 500 },
    runtime_constraints: { vcpus: 1, ram: 2 ** 30 },
  }
  const accepted = await fleet.rest('ada', '/dispatch/v1/containers', { method: 'POST', body }, 1)
  expect(accepted.status).toBe(201)
  const { uuid } = accepted.body as { uuid: string }
  await until(() => existsSync(begun)).toBe(true)
  await until(() => stateOf(uuid)).toBe('Running')
  const keeper = (await fleet.keeper())!
  const pid = readFileSync(begun, 'utf8')
  keeper.kill()
  await until(async () => (await fleet.keeper()) !== undefined).toBe(true)
  writeFileSync(go, '')
  await until(() => stateOf(uuid)).toBe('Complete')
  expect(readFileSync(ended, 'utf8')).toBe(pid)
  expect(await fleet.find(uuid)).toMatchObject({ exitCode: 0, runs: 1 })
  expect(await fleet.broken()).toEqual([])
})

test('output of a container is kept before its end when it ends while nobody keeps its machine', async () => {
  const { begun, go, command } = waiting('alone')
  const uuid = await fleet.submit({ command: [...command.slice(0, 2), `echo before; ${command[2]}; echo after`] })
  await until(() => existsSync(begun)).toBe(true)
  await until(() => fleet.output(uuid)).toBe('before\n')
  ;(await fleet.keeper())!.kill()
  // The next keeper comes after the lease of this one, and learns of the end by the list.
  writeFileSync(go, '')
  await until(() => stateOf(uuid)).toBe('Complete')
  expect(await fleet.output(uuid)).toBe('before\nafter\n')
  expect(await fleet.find(uuid)).toMatchObject({ exitCode: 0, runs: 1 })
  expect(await fleet.broken()).toEqual([])
})

test('a running container ends when its owner cancels it, at any replica', async () => {
  const { begun, command } = waiting('cancelled')
  const uuid = await fleet.submit({ command })
  await until(() => existsSync(begun)).toBe(true)
  await until(() => stateOf(uuid)).toBe('Running')
  const asked = await fleet.rest('ada', `/dispatch/v1/containers/${uuid}`, { method: 'DELETE' }, 2)
  expect(asked.status).toBe(202)
  await until(() => stateOf(uuid)).toBe('Cancelled')
  expect(() => process.kill(Number(readFileSync(begun, 'utf8')), 0)).toThrow()
})

test('a machine on hold stays, gets nothing, and ends when the operator kills it', async () => {
  const { begun, go, command } = waiting('held')
  const uuid = await fleet.submit({ command })
  await until(() => existsSync(begun)).toBe(true)
  const { instance } = await fleet.find(uuid)
  const hold = `/arvados/v1/dispatch/instances/hold?instance_id=${instance}`
  expect((await fleet.rest('management', hold, { method: 'POST' })).status).toBeLessThan(300)
  writeFileSync(go, '')
  await until(() => stateOf(uuid)).toBe('Complete')
  const next = await fleet.submit({ command: ['true'] })
  await until(() => stateOf(next)).toBe('Complete')
  expect((await fleet.find(next)).instance).not.toBe(instance)
  await until(async () => (await fleet.list()).map(each => each.instance)).toEqual([instance])
  const kill = `/arvados/v1/dispatch/instances/kill?instance_id=${instance}&reason=test`
  expect((await fleet.rest('management', kill, { method: 'POST' })).status).toBeLessThan(300)
  await until(() => fleet.list()).toEqual([])
})
