import { defineConfig } from 'vitest/config'

/** Real processes on a real cluster: slow where the machine is. */
const patient = { testTimeout: 60_000, hookTimeout: 60_000, env: { SKYLAB_TEST: '1' } }

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'box/**/*.test.ts',
            'scripts/**/*.test.ts',
            'test/integration/harness/*.test.ts',
          ],
          env: { SKYLAB_TEST: '1' },
        },
      },
      {
        // Needs the cluster that `npm test` starts.
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: ['test/integration/harness/**', '**/*.node.test.ts'],
          ...patient,
        },
      },
      {
        // Needs a cluster with a real node, of which a machine can have one.
        test: {
          name: 'node',
          include: ['test/integration/**/*.node.test.ts'],
          fileParallelism: false,
          ...patient,
        },
      },
    ],
  },
})
