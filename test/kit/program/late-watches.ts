import type { Control } from './control.ts'

/**
 * Not a guard: `SKYLAB_CONTROL=late-watches npm test -- integration` runs replicas whose watches lag. A test is red that asks one
 * replica for what another one has seen, and so is an answer by a former state.
 */
export const lateWatches: Control = {
  name: 'late-watches',
  attacks: [],
  edits: [
    {
      file: 'src/kube/reflector.ts',
      find: "import { keyOf } from './cache.ts'",
      replace: "import { late } from '../../test/kit/failpoints/late-lines.ts'\nimport { keyOf } from './cache.ts'",
    },
    {
      file: 'src/kube/reflector.ts',
      find: 'await watch.read(line => this.#receive(line))',
      replace: 'await watch.read(late(line => this.#receive(line), deadline))',
    },
  ],
}
