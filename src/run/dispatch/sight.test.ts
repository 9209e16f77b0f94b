import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { Basics } from '../basics.ts'
import { joinSight } from './sight.ts'

function sightOf() {
  const registry = new Registry()
  const sight = joinSight({ metrics: { registry } } as unknown as Basics)
  return { ...sight, lines: async () => (await registry.metrics()).split('\n') }
}

const arvados = (line: string) => `arvados_dispatchcloud_${line}`

describe('joinSight', () => {
  it('writes what keepers tell', async () => {
    const { machines, lines } = sightOf()
    machines.reached(2)
    // By a clock that went back.
    machines.reached(-1)
    machines.ready(3)
    machines.gone(4)
    machines.began(5)
    machines.asked(true, 0.5)
    machines.asked(false, 0.25)
    machines.vanished('booting')
    machines.vanished('running')
    machines.stale('epoch')
    for (const outcome of ['success', 'failure', 'aborted', 'disappeared'] as const) machines.booted(outcome)
    expect(await lines()).toEqual(
      expect.arrayContaining([
        arvados('instances_time_to_ssh_seconds_sum 2'),
        arvados('instances_time_to_ssh_seconds_count 2'),
        arvados('instances_time_to_ready_for_container_seconds_sum 3'),
        arvados('instances_time_from_shutdown_request_to_disappearance_seconds_sum 4'),
        arvados('containers_time_from_queue_to_crunch_run_seconds_sum 5'),
        arvados('instances_run_probe_duration_seconds_sum{outcome="success"} 0.5'),
        arvados('instances_run_probe_duration_seconds_sum{outcome="fail"} 0.25'),
        arvados('instances_disappeared{state="booting"} 1'),
        arvados('instances_disappeared{state="running"} 1'),
        'skylab_dispatch_stale_refused_total{reason="epoch"} 1',
        ...['success', 'failure', 'aborted', 'disappeared'].map(each => arvados(`boot_outcomes{outcome="${each}"} 1`)),
      ]),
    )
  })

  it('writes calls of the cloud that Arvados knows, and passes', async () => {
    const { onCall, onPass, onAdopted, onRemoved, lines } = sightOf()
    onCall('create', undefined)
    onCall('setTags', 'CloudRefused')
    onCall('find', undefined)
    onPass({ readMs: 1_000, decideMs: 2_000, writeMs: 3_000, done: 0, changed: 0, again: false })
    onAdopted('adopted')
    onAdopted('late')
    onRemoved(2)
    const all = await lines()
    expect(all).toEqual(
      expect.arrayContaining([
        arvados('driver_operations{operation="Create",error="0"} 1'),
        arvados('driver_operations{operation="SetTags",error="1"} 1'),
        'skylab_dispatch_pass_seconds_sum{part="write"} 3',
        'skylab_dispatch_leaks_destroyed_total{kind="instance"} 1',
        'skylab_dispatch_leaks_destroyed_total{kind="nic"} 2',
      ]),
    )
    expect(all.filter(line => line.includes('driver_operations{') && line.endsWith(' 1'))).toHaveLength(2)
  })

  it('has the longest wait of all keepers that listen', () => {
    const { machines, spoolLagSeconds } = sightOf()
    expect(spoolLagSeconds()).toBe(0)
    const ends = [machines.listens(() => 2), machines.listens(() => 5), machines.listens(() => 0)]
    expect(spoolLagSeconds()).toBe(5)
    ends[1]!()
    expect(spoolLagSeconds()).toBe(2)
  })
})
