/** Containers of Arvados: three replicas mirror the queue of a stand-in, which is often busy, and replicas die meanwhile. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ArvadosServer } from '../../kit/arvados/server.ts'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'

const patience = { timeout: 120_000, interval: 100 }
/** As for attacks: `SKYLAB_FAULTS=all npm test -- integration/dispatch/arvados` has the full sizes. */
const whole = process.env.SKYLAB_FAULTS === 'all'
const many = whole ? 20 : 8
const points = ['arvados.mirrored', 'arvados.locked', 'arvados.told']

let arvados: ArvadosServer
let fleet: DispatchFleet
beforeAll(async () => {
  arvados = await ArvadosServer.start()
  fleet = await DispatchFleet.start({ replicas: 3, arvados })
})
afterAll(async () => {
  await fleet?.stop()
  await arvados?.stop()
})

const needs = { vcpus: 1, ram: 2 ** 30, API: false }
const until = (what: () => unknown) => expect.poll(what, patience)
const stateOf = (uuid: string) => arvados.containers.find(uuid).state

test('each container of Arvados runs once when Arvados is busy, replies are lost, and replicas are killed', async () => {
  const folder = join(fleet.stateDir, 'ran')
  mkdirSync(folder)
  let count = 0
  arvados.mishap = () => {
    count += 1
    if (count % 10 === 0) return { kind: 'busy' }
    return count % 13 === 0 ? { kind: 'lost' } : undefined
  }
  const uuids = Array.from({ length: many }, (_, i) => {
    const command = ['sh', '-c', `mktemp ${folder}/${i}.XXXXXX; sleep 1; exit ${i % 2}`]
    return arvados.containers.add({ command, runtime_constraints: needs, priority: 100 + i }).uuid
  })
  const ended = () => uuids.filter(uuid => ['Complete', 'Cancelled'].includes(stateOf(uuid))).length
  for (const part of [0.25, 0.5]) {
    await until(ended).toBeGreaterThanOrEqual(many * part)
    const [victim] = fleet.replicas.filter(({ name }) => name === `dispatch-${part * 4}`)
    victim!.kill()
  }
  await until(() => uuids.map(stateOf)).toEqual(uuids.map(() => 'Complete'))
  const { all, histories } = arvados.containers
  expect(uuids.map(uuid => all.get(uuid)!.exit_code)).toEqual(uuids.map((_, i) => i % 2))
  for (const uuid of uuids) expect(histories.get(uuid)!.slice(-3)).toEqual(['Locked', 'Running', 'Complete'])
  expect(uuids.flatMap(uuid => all.get(uuid)!.locked_by_uuid ?? [])).toEqual([])
  const ran = readdirSync(folder).map(name => Number(name.split('.')[0]))
  expect(ran.toSorted((a, b) => a - b)).toEqual(uuids.map((_, i) => i))
  expect(await fleet.broken()).toEqual([])
  arvados.mishap = () => undefined
  await until(() => fleet.client.hlen(`{${fleet.name}}:arvados-mirrored`)).toBe(0)
  expect(fleet.log()).not.toContain(arvados.token.split('/')[2])
})

test.each(whole ? points : points.slice(0, 1))(
  'a container of Arvados runs once when the replica that mirrors dies at %s',
  async point => {
    const file = join(fleet.stateDir, point)
    const arm = fleet.failpoints.arm(point, 'kill', { times: 2 })
    const { uuid } = arvados.containers.add({ command: ['sh', '-c', `echo x >> ${file}`] })
    await until(() => stateOf(uuid)).toBe('Complete')
    arm.disarm()
    expect(arm.marks().length).toBeGreaterThan(0)
    expect(readFileSync(file, 'utf8')).toBe('x\n')
    expect(arvados.containers.histories.get(uuid)).toEqual(['Queued', 'Locked', 'Running', 'Complete'])
  },
)

test('a container of Arvados has one record when a replica wakes that had locked it, and another one adopted it', async () => {
  const file = join(fleet.stateDir, 'woken')
  const arm = fleet.failpoints.arm('arvados.locked', 'stop')
  const { uuid } = arvados.containers.add({ command: ['sh', '-c', `echo x >> ${file}`] })
  const { pid } = await arm.landed()
  await until(() => stateOf(uuid)).toBe('Complete')
  process.kill(pid, 'SIGCONT')
  const { uuid: next } = arvados.containers.add()
  await until(() => stateOf(next)).toBe('Complete')
  const { containers } = await fleet.containers.list({ limit: 100 })
  expect(containers.filter(({ view }) => view.arvados_uuid === uuid)).toHaveLength(1)
  expect(readFileSync(file, 'utf8')).toBe('x\n')
})

test('a running container ends when its priority becomes 0 in Arvados, which is told why', async () => {
  const file = join(fleet.stateDir, 'stopped')
  const { uuid } = arvados.containers.add({ command: ['sh', '-c', `echo $$ > ${file}; sleep 600`] })
  await until(() => stateOf(uuid)).toBe('Running')
  arvados.containers.find(uuid).priority = 0
  await until(() => stateOf(uuid)).toBe('Cancelled')
  expect(arvados.containers.find(uuid).runtime_status).toEqual({ error: 'its priority is 0' })
  expect(() => process.kill(Number(readFileSync(file, 'utf8')), 0)).toThrow()
})

test('a container that cannot be run here is cancelled in Arvados with its reason', async () => {
  const mounts = { '/data': { kind: 'collection', portable_data_hash: 'x' } }
  const { uuid } = arvados.containers.add({ mounts })
  await until(() => stateOf(uuid)).toBe('Cancelled')
  const { error } = arvados.containers.find(uuid).runtime_status
  expect(error).toBe('Skylab cannot run it: mounts./data: its data is in Keep, which Skylab does not mount')
  expect(arvados.containers.histories.get(uuid)).toEqual(['Queued', 'Locked', 'Cancelled'])
})

test('containers that wait in Arvados are mirrored again when Redis is emptied, and what runs goes on', async () => {
  const file = join(fleet.stateDir, 'kept')
  const running = arvados.containers.add({ command: ['sh', '-c', `echo x >> ${file}; sleep 8`] })
  await until(() => stateOf(running.uuid)).toBe('Running')
  await fleet.client.flushall()
  const { uuid } = arvados.containers.add()
  await until(() => stateOf(uuid)).toBe('Complete')
  await until(() => stateOf(running.uuid)).toBe('Complete')
  expect(readFileSync(file, 'utf8')).toBe('x\n')
  expect(arvados.containers.histories.get(running.uuid)).toEqual(['Queued', 'Locked', 'Running', 'Complete'])
})
