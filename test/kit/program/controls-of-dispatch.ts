/** Controls of the dispatch: what a machine's runner compares before it acts. */
import type { Control } from './control.ts'

export const controlsOfDispatch: readonly Control[] = [
  {
    // Any connection may act, whoever said hello meanwhile.
    name: 'runner-no-epoch',
    attacks: [{ name: 'dispatch V1 random', expected: /overlap|was not refused|began twice/ }],
    edits: [
      {
        file: 'src/runner/acts.ts',
        find: 'return epoch === this.#epoch && connection === this.#connection',
        replace: 'return this.#epoch > 0 && epoch > 0 && connection !== undefined',
      },
    ],
  },
  {
    // A machine takes any run of a container.
    name: 'runner-no-run',
    attacks: [{ name: 'dispatch V1 random', expected: /overlap|was not refused|began twice/ }],
    edits: [
      {
        file: 'src/runner/acts.ts',
        find: 'if (run < past.run || (run === past.run && past.begun))',
        replace: 'if (run < 0)',
      },
    ],
  },
]
