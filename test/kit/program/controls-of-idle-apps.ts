/** Controls of the idle engine for apps. */
import type { Control } from './control.ts'

export const controlsOfIdleApps: readonly Control[] = [
  {
    // A gateway that says nothing has seen nothing.
    name: 'idle-apps-untold-is-idle',
    attacks: [{ name: 'apps K2 ', expected: /is stopped by silence/ }],
    edits: [
      {
        file: 'src/idle/decisions/ends.ts',
        find: "if (read.trafficIsUntold && isWaitedFor('traffic')) return 'traffic'",
        replace: '',
      },
    ],
  },
  {
    // A stop is written over any edit.
    name: 'idle-apps-any-version',
    attacks: [{ name: 'apps K4 ', expected: /was edited, and stopped nevertheless/ }],
    edits: [
      {
        file: 'src/idle/apps/owner.ts',
        find: 'check: () => limit.check(), resourceVersion, agent }',
        replace: 'check: () => limit.check(), agent }',
      },
    ],
  },
]
