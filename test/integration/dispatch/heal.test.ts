/** `skylab heal` where dispatch runs: counters that ran ahead are set back, and what runs on machines goes on. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Keys } from '../../../src/store/keys.ts'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'
import { heal as healBy, poison } from '../../kit/fleet/heal.ts'

const patience = { timeout: 120_000, interval: 50 }
const until = (what: () => unknown) => expect.poll(what, patience)

let fleet: DispatchFleet
beforeAll(async () => {
  fleet = await DispatchFleet.start({ replicas: 1 })
})
afterAll(() => fleet?.stop())

const heal = (...options: string[]) =>
  healBy(
    { stateDir: fleet.stateDir, redis: fleet.redis, configFile: join(fleet.stateDir, 'skylab-1.yaml') },
    ...options,
  )

test('heal sets poisoned counters of dispatch back without Kubernetes, and a container goes on meanwhile', async () => {
  expect(await heal()).toEqual({ code: 0, out: 'no number is beyond the clock of Redis\n', err: '' })
  const [begun, go, ended] = ['begun', 'go', 'ended'].map(name => join(fleet.stateDir, name)) as [
    string,
    string,
    string,
  ]
  const script = `echo $$ > ${begun}; while [ ! -e ${go} ]; do sleep 0.1; done; echo $$ > ${ended}`
  const uuid = await fleet.submit({ command: ['sh', '-c', script] })
  await until(async () => existsSync(begun) && (await fleet.find(uuid)).state).toBe('Running')

  const keys = new Keys(fleet.name)
  await fleet.client.mset(keys.last, poison, keys.dispatch.last, poison)
  const body = { command: ['true'], container_image: 'busybox', runtime_constraints: { vcpus: 1, ram: 2 ** 30 } }
  const ask = () => fleet.rest('ada', '/dispatch/v1/containers', { method: 'POST', body })
  expect((await ask()).status).toBe(503)
  const dry = JSON.parse((await heal('--json')).out)
  expect(dry).toMatchObject({ applied: false, kept: [], strangers: [] })
  expect(dry.findings).toEqual([
    { kind: 'counter', op: poison, to: expect.any(Number) },
    { kind: 'epoch-counter', of: 'instance', op: poison, to: expect.any(Number) },
  ])
  expect(await fleet.client.mget(keys.last, keys.dispatch.last)).toEqual([String(poison), String(poison)])

  const { code, out, err } = await heal('--apply')
  expect([code, out]).toEqual([0, expect.stringMatching(/^WHAT .*WAS\ncounter .*\nepoch-counter +instance .*\n$/s)])
  expect(JSON.parse(err)).toMatchObject({ action: 'heal.counter', result: 'succeeded', actor: { kind: 'operator' } })
  for (const value of await fleet.client.mget(keys.last, keys.dispatch.last))
    expect(Number(value)).toBeLessThanOrEqual((Date.now() + 60_000) * 1000)
  // Former owners may act for half a minute after a compare. New machines and containers wait for nobody.
  let accepted = await ask()
  await until(async () => {
    if (accepted.status !== 201) accepted = await ask()
    return accepted.status
  }).toBe(201)
  const { uuid: next } = accepted.body as { uuid: string }
  await until(async () => (await fleet.find(next)).state).toBe('Complete')
  writeFileSync(go, '')
  await until(() => existsSync(ended) && readFileSync(ended, 'utf8')).toBe(readFileSync(begun, 'utf8'))
  expect(await fleet.find(uuid)).toMatchObject({ runs: 1 })
  expect(await fleet.broken()).toEqual([])
})
