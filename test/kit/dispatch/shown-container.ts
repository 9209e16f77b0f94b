/** For tests: a container as the store gives it. */
import type { ContainerShown } from '../../../src/store/dispatch/forms.ts'

export const shownContainer = (change: Partial<ContainerShown> = {}): ContainerShown => ({
  view: {
    ...{ uuid: 'zzzzz-dz642-000000000000a1b', owner: 'ann', command: ['true'], container_image: 'busybox' },
    ...{ environment: { TOKEN: '***' }, cwd: '.', mounts: {}, container_count_max: 3 },
    runtime_constraints: { vcpus: 1, ram: 1, gpus: 0 },
    scheduling_parameters: { preemptible: false, supervisor: false, max_run_time: 0 },
  },
  need: { vcpus: 1, ramBytes: 1, scratchBytes: 0, gpus: 0, preemptible: false },
  ...{ tenant: 'default', state: 'Queued', priority: 500, version: 1, queuedMs: 1_000, startedMs: 0, finishedMs: 0 },
  ...{ attempts: 0, runs: 0, run: 0, machine: '', instance: '', instanceType: '', pricePerHour: 0 },
  ...{ exitCode: undefined, cancelled: '', trouble: '', gatewayAddress: '', gatewayPin: '', isOutputDropped: false },
  ...change,
})
