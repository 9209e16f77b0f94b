/** Containers that share a machine: real processes, real SSH, replicas that die. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'

const patience = { timeout: 120_000, interval: 50 }

let fleet: DispatchFleet
beforeAll(async () => {
  fleet = await DispatchFleet.start({
    replicas: 2,
    cloud: { MaxRunningContainersPerInstance: 3 },
    types: { large: { VCPUs: 4, RAM: '16GiB', Price: 0.4 } },
  })
})
afterAll(() => fleet?.stop())

const stateOf = async (uuid: string) => (await fleet.find(uuid)).state
const until = (what: () => unknown) => expect.poll(what, patience)

/** Waits for a file, and says its own pid before and after. */
class Job {
  readonly #at: (what: string) => string
  uuid = ''

  constructor(name: string) {
    this.#at = what => join(fleet.stateDir, `${name}.${what}`)
  }

  async submit(): Promise<void> {
    const [begun, go, ended] = ['begun', 'go', 'ended'].map(this.#at)
    const script = `echo $$ > ${begun}.part; mv ${begun}.part ${begun}; while [ ! -e ${go} ]; do sleep 0.1; done; echo $$ >> ${ended}`
    this.uuid = await fleet.submit({ command: ['sh', '-c', script] })
  }

  isBegun = () => existsSync(this.#at('begun'))
  letGo = () => writeFileSync(this.#at('go'), '')
  /** Whether it began and ended once, in one process. */
  wasWhole = () => readFileSync(this.#at('begun'), 'utf8') === readFileSync(this.#at('ended'), 'utf8')
}

async function running(...names: string[]): Promise<Job[]> {
  const jobs = names.map(name => new Job(name))
  for (const job of jobs) await job.submit()
  for (const job of jobs) {
    await until(job.isBegun).toBe(true)
    await until(() => stateOf(job.uuid)).toBe('Running')
  }
  return jobs
}

const machinesOf = async (jobs: readonly Job[]) =>
  new Set(await Promise.all(jobs.map(async ({ uuid }) => (await fleet.find(uuid)).instance)))

test('three containers share a machine, and go on in the same processes when the replica that keeps it is killed', async () => {
  const jobs = await running('a', 'b', 'c')
  const uuids = jobs.map(({ uuid }) => uuid).toSorted()
  expect((await machinesOf(jobs)).size).toBe(1)
  const shown = await fleet.rest('management', '/arvados/v1/dispatch/instances')
  expect(shown.body).toMatchObject({ items: [{ worker_state: 'running', running_container_uuids: uuids }] })
  const keeper = (await fleet.keeper())!
  keeper.kill()
  await until(async () => (await fleet.keeper()) !== undefined).toBe(true)
  for (const job of jobs) job.letGo()
  for (const { uuid } of jobs) await until(() => stateOf(uuid)).toBe('Complete')
  for (const job of jobs) {
    expect(job.wasWhole()).toBe(true)
    expect(await fleet.find(job.uuid)).toMatchObject({ exitCode: 0, runs: 1 })
  }
  expect(await fleet.broken()).toEqual([])
})

test('a machine stays for the others when one of its containers ends, is cancelled, or it is drained', async () => {
  const [first, second, third] = (await running('d', 'e', 'f')) as [Job, Job, Job]
  first.letGo()
  await until(() => stateOf(first.uuid)).toBe('Complete')
  const cancelled = await fleet.rest('ada', `/dispatch/v1/containers/${second.uuid}`, { method: 'DELETE' })
  expect(cancelled.status).toBe(202)
  await until(() => stateOf(second.uuid)).toBe('Cancelled')
  const { instance } = await fleet.find(third.uuid)
  const drain = `/arvados/v1/dispatch/instances/drain?instance_id=${instance}`
  expect((await fleet.rest('management', drain, { method: 'POST' })).status).toBeLessThan(300)
  const next = new Job('g')
  await next.submit()
  await until(next.isBegun).toBe(true)
  expect((await fleet.find(next.uuid)).instance).not.toBe(instance)
  expect(await stateOf(third.uuid)).toBe('Running')
  for (const job of [third, next]) job.letGo()
  for (const { uuid } of [third, next]) await until(() => stateOf(uuid)).toBe('Complete')
  expect([third.wasWhole(), await fleet.find(third.uuid)]).toMatchObject([true, { runs: 1 }])
  await until(() => fleet.list()).toEqual([])
  expect(await fleet.broken()).toEqual([])
})
