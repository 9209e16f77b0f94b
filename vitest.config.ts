import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'box/**/*.test.ts', 'scripts/**/*.test.ts'],
          env: { SKYLAB_TEST: '1' },
        },
      },
    ],
  },
})
