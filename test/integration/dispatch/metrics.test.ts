/** Every metric of containers and machines, as whole replicas serve it while machines of the test cloud come, run and go. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { instanceSetIdOf, tagNames } from '../../../src/dispatch/tags.ts'
import { startLimitMs, whyNoVms } from '../../kit/cloud/cloud.ts'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'
import { type CloudSite, cloudSite, ec2Types } from '../../kit/dispatch/on-ec2.ts'
import { dispatchMetrics, Samples } from '../../kit/dispatch/samples.ts'

const reason = whyNoVms()
const until = (what: () => unknown) => expect.poll(what, { timeout: 120_000, interval: 50 })
const gib = 2 ** 30
const arvados = (name: string) => `arvados_dispatchcloud_${name}`
const replicas = 2
/** The prefix is the default one. */
const names = tagNames('Arvados')

describe.skipIf(reason !== null)(
  `the metrics of a fleet${reason === null ? '' : `, which cannot run here: ${reason}`}`,
  () => {
    let site: CloudSite
    let fleet: DispatchFleet
    beforeAll(async () => {
      site = await cloudSite()
      fleet = await DispatchFleet.start({
        ...{
          replicas,
          types: ec2Types,
          proxies: true,
          cloud: { ...site.block, TimeoutIdle: '1s', SyncInterval: '1s' },
        },
        // A keeper goes on while Redis is away.
        engine: { leaseTtlMs: 20_000 },
      })
    }, startLimitMs)
    afterAll(async () => {
      await fleet?.stop()
      await site?.close()
    })

    const read = () => Samples.of(fleet.replicas)
    const stateOf = async (uuid: string) => (await fleet.find(uuid)).state
    const longest = () => (performance.now() - begunMs) / 1000
    let begunMs = 0

    const disappeared = async (state: string) => (await read()).sum(arvados('instances_disappeared'), { state })

    /** Metrics without a sample. The rest of this file tells their values. */
    async function missing(): Promise<readonly string[]> {
      const samples = await read()
      return dispatchMetrics().flatMap(metric => metric.samples.filter(name => samples.each(name).length === 0))
    }

    /** How often, and a plausible sum of seconds. */
    async function expectTimes(name: string, count: number): Promise<void> {
      const samples = await read()
      expect(samples.sum(`${name}_count`)).toBe(count)
      const seconds = samples.sum(`${name}_sum`)
      expect(seconds).toBeGreaterThan(0)
      expect(seconds).toBeLessThan(count * longest())
    }

    test('have every boot, container, wait and end, and what is', async () => {
      begunMs = performance.now()
      // A container runs to its end, and its machine ends when it is idle.
      const go = join(site.audit, 'go')
      const first = await fleet.submit({ command: ['true'] })
      await until(async () => (await fleet.list()).length).toBe(1)
      const [brief] = await fleet.list()
      await until(() => stateOf(first)).toBe('Complete')
      await until(() => disappeared('shutdown')).toBe(1)
      let samples = await read()
      expect(samples.sum(arvados('boot_outcomes'), { outcome: 'success' })).toBe(1)
      await expectTimes(arvados('instances_time_to_ssh_seconds'), 1)
      await expectTimes(arvados('instances_time_to_ready_for_container_seconds'), 1)
      await expectTimes(arvados('instances_time_from_shutdown_request_to_disappearance_seconds'), 1)
      await expectTimes(arvados('containers_time_from_queue_to_crunch_run_seconds'), 1)
      const probes = (of: string) =>
        samples.sum(arvados(`instances_run_probe_duration_seconds_${of}`), { outcome: 'success' })
      expect(probes('count')).toBeGreaterThan(0)
      expect(probes('sum')).toBeGreaterThan(0)
      const calls = (operation: string) => samples.sum(arvados('driver_operations'), { operation, error: '0' })
      expect(calls('Create')).toBe(1)
      expect(Math.min(...['List', 'SetTags', 'Destroy'].map(calls))).toBeGreaterThan(0)

      // Another one runs.
      const more = `while [ ! -e ${go} ]; do echo more; sleep 0.05; done`
      const second = await fleet.submit({ command: ['sh', '-c', more], mostRuns: 1 })
      await until(() => stateOf(second)).toBe('Running')
      await expectRunning()
      await expectLag()

      // Its machine is gone all of a sudden.
      const { instance } = await fleet.find(second)
      await site.cloud.machines!.get(instance).powerOff()
      await until(() => stateOf(second)).toBe('Cancelled')
      await until(() => disappeared('running')).toBe(1)
      samples = await read()
      expect(samples.sum(arvados('instances_disappeared'))).toBe(2)
      expect(samples.sum(arvados('boot_outcomes'))).toBe(2)
      await expectTimes(arvados('instances_time_from_shutdown_request_to_disappearance_seconds'), 1)

      await expectLeaks(brief!.name)
      // The lease of the scheduler was held while Redis was away.
      await until(missing).toEqual([])
    })

    /** While one container runs. */
    async function expectRunning(): Promise<void> {
      const samples = await read()
      const same = (name: string, value: number, labels = {}) =>
        expect([name, samples.each(name, labels)]).toEqual([name, Array(replicas).fill(value)])
      const small = { category: 'inuse', instance_type: 'small' }
      same(arvados('containers_running'), 1)
      same(arvados('containers_allocated_not_started'), 0)
      same(arvados('containers_not_allocated_over_quota'), 0)
      same(arvados('containers_longest_wait_time_seconds'), 0)
      same(arvados('at_quota'), 0)
      same(arvados('instances_total'), 1, small)
      same(arvados('instances_total'), 1)
      same(arvados('instances_price'), 0.1, { category: 'inuse' })
      same(arvados('vcpus_total'), 1, { category: 'inuse' })
      same(arvados('memory_bytes_total'), 4 * gib, { category: 'inuse' })
      same('skylab_dispatch_in_doubt', 0)
      for (const age of ['max', 'median'])
        expect(Math.max(...samples.each(arvados(`probe_age_seconds_${age}`)))).toBeGreaterThan(0)
      expect(samples.each(arvados('max_concurrent_containers'))).toEqual([0])
      expect(samples.sum('skylab_dispatch_owned')).toBe(1)
      for (const part of ['read', 'decide', 'write'])
        expect(samples.sum('skylab_dispatch_pass_seconds_count', { part })).toBeGreaterThan(0)
    }

    /** What the machine says cannot be stored while Redis is away. */
    async function expectLag(): Promise<void> {
      const lag = async () => (await read()).sum('skylab_dispatch_spool_lag_seconds')
      await Promise.all(fleet.proxies.map(proxy => proxy.shut()))
      await until(lag).toBeGreaterThan(0.5)
      await Promise.all(fleet.proxies.map(proxy => proxy.open()))
      await until(lag).toBeLessThan(0.5)
    }

    /** A machine of an intent that is over, and an interface without a machine. */
    async function expectLeaks(intent: string): Promise<void> {
      const token = readFileSync(join(fleet.stateDir, 'dispatch.token'), 'utf8')
      const ours = { [names.instanceSetId]: instanceSetIdOf(token) }
      const { somebody, subnets } = site.cloud
      const instance = await somebody.runs({ ...ours, [names.intent]: intent, [names.instanceType]: 'small' })
      await somebody.makesInterface(subnets[0]!, { ...ours, CreatedAt: '2020-01-01T00:00:00.000Z' })
      const leaks = async (kind: string) => (await read()).sum('skylab_dispatch_leaks_destroyed_total', { kind })
      await until(() => leaks('nic')).toBe(1)
      await until(() => leaks('instance')).toBe(1)
      await until(async () => (await somebody.sees(instance))?.state ?? 'terminated').toBe('terminated')
      await until(() => fleet.list()).toEqual([])
      // It is counted once its record has gone.
      await until(async () => (await read()).sum(arvados('boot_outcomes'), { outcome: 'aborted' })).toBe(1)
    }

    test('are told by docs/metrics.md, by these names', async () => {
      const page = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8')
      for (const { name } of dispatchMetrics()) expect(page).toContain(`| \`${name}\` |`)
    })
  },
)
