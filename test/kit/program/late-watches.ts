import type { Control } from './control.ts'

/**
 * Takes no guard away: `SKYLAB_CONTROL=late-watches npm test -- integration` runs replicas whose watches lag. A test fails if it
 * asks one replica for what another replica has seen, or if a replica answers by a former state.
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
