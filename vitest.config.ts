import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Real processes on a real cluster, slow where the machine is: the limits are against hanging, not for speed. */
const patient = { testTimeout: 150_000, hookTimeout: 180_000, env: { SKYLAB_TEST: '1' } }
/** They wait more than they compute: on two processors three files at once took 55 s instead of 135 s. */
const workers = Math.max(3, availableParallelism())
/** Fewer beside the tests on a real node: with five files at once, deletions and clicks came too late there. */
const besideWorkers = workers - 1
/** Two attacks at once still take over in time, on a busy machine too. In full size each needs the whole machine. */
const attackWorkers = process.env.SKYLAB_FAULTS === 'all' ? 1 : 2
/** Of the tests of one file that may run at once: they mostly wait for the cluster, which takes 5 s to remove a namespace. */
const maxConcurrency = 10

/** It leaves hundreds of namespaces. */
const crowd = 'test/integration/faults/crowd.test.ts'
/** Ten fleets at once, which mostly wait: other attacks beside them would be late. */
const idle = 'test/integration/faults/idle.test.ts'
/** About as long as the tests on a real node, beside which they run. */
const beside = 'test/integration/idle/**/*.test.ts'
/** Take-overs are timed here too, and who enforces NetworkPolicies holds up every pod's connections. */
const aloneOnNode = ['test/integration/faults/**/*.node.test.ts', 'test/integration/network-policy.node.test.ts']

/** Real machines under qemu: only `npm test -- --vm` starts them. */
const vms = 'test/integration/dispatch/vm*.test.ts'

/** Vitest sorts by durations, and by sizes where it has none: the file that runs most attacks is one of the shortest. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => moduleId.endsWith('/faults/together.test.ts')
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter(file => !isLong(file))]
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{src,dev,scripts,plugins,test/kit}/**/*.test.ts'],
          env: { SKYLAB_TEST: '1' },
          // Against hanging, not for speed: beside 30 other processes a test of generated requests took 23 s instead of 2.
          testTimeout: 60_000,
          // One module cache for all files: imports were half of the time. So none may leave anything changed.
          isolate: false,
          // Vitest and Node would load two copies of graphql, and neither takes the schema of the other.
          server: { deps: { inline: ['graphql-http'] } },
          // What takes long there waits: for processes, for time-outs.
          maxWorkers: workers + 1,
        },
      },
      {
        // Needs the cluster that `npm test` starts.
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: ['test/integration/faults/**', '**/*.node.test.ts', beside, vms],
          maxWorkers: workers,
          maxConcurrency,
          // Half a second of processor time for each file is the client of Kubernetes alone.
          isolate: false,
          ...patient,
        },
      },
      {
        // On the same cluster, before them.
        test: {
          name: 'beside',
          include: [beside],
          maxWorkers: besideWorkers,
          maxConcurrency,
          isolate: false,
          ...patient,
        },
      },
      {
        // On the same cluster, but afterwards: take-overs are timed, and much company would be measured too.
        test: {
          name: 'faults',
          include: ['test/integration/faults/**/*.test.ts'],
          exclude: ['**/*.node.test.ts', idle, crowd],
          maxWorkers: attackWorkers,
          sequence: { groupOrder: 1 },
          isolate: false,
          ...patient,
        },
      },
      {
        // On the same cluster, by themselves.
        test: { name: 'idle-faults', include: [idle], sequence: { groupOrder: 2 }, ...patient },
      },
      {
        // Attacks that `faults` runs side by side, each by itself: run where a filter names them.
        test: {
          name: 'attack',
          include: ['test/integration/faults/**/*.attack.ts'],
          fileParallelism: false,
          isolate: false,
          ...patient,
        },
      },
      {
        // On the same cluster at its end: hundreds of namespaces are left, and other deletions would queue behind them.
        test: { name: 'crowd', include: [crowd], sequence: { groupOrder: 3 }, ...patient },
      },
      {
        // Needs a cluster with a real node, of which a machine can have one. Mostly the kubelet is waited for.
        test: {
          name: 'node',
          include: ['test/integration/**/*.node.test.ts'],
          exclude: aloneOnNode,
          // The longest file takes as long as all others.
          maxWorkers: 2,
          ...patient,
        },
      },
      {
        // On the same node, one file after another.
        test: {
          name: 'node-alone',
          include: aloneOnNode,
          fileParallelism: false,
          ...patient,
        },
      },
      {
        // Needs Redis alone. A boot takes half a minute of a processor.
        test: { name: 'vm', include: [vms], fileParallelism: false, ...patient, testTimeout: 600_000 },
      },
    ],
  },
})
