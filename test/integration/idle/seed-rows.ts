/** Rows of the list of acceptance for what is stopped when nobody uses it, and the tests that show them. For docs/idle.md. */
import type { SeedRow } from '../tenants/seed-rows.ts'

const unit = (name: string) => `src/idle/${name}.test.ts`
const notebooks = 'test/integration/idle/notebooks.test.ts'
const culling = 'src/settings/culling.test.ts'

export const idleRows: readonly SeedRow[] = [
  {
    id: 'C-01',
    what: '`GET <server>/api/kernels`: the state and the latest activity of each kernel',
    tests: [[unit('looks/probe'), 'asks for kernels, then for terminals, with the token and without tracking']],
  },
  {
    id: 'C-02',
    what: 'Three annotations, by the names of Kubeflow',
    tests: [
      [unit('engine'), 'writes both at a warning, and five minutes after the start'],
      [notebooks, 'an idle notebook is stopped by its annotation, after its time-out, by one of them'],
    ],
    departs: 'a fourth one, `user.skylab/keep-until`, for what is kept on request',
  },
  {
    id: 'C-03',
    what: '`kubeflow-resource-stopped` by hand stops; without it the workload starts',
    tests: [
      [notebooks, 'the annotation by hand stops a notebook, and its removal starts it with times of its own'],
      [notebooks, 'a labelled StatefulSet is stopped, and scaled by the annotation; another one is left alone'],
    ],
    departs: 'a lab does not come back',
  },
  {
    id: 'C-04',
    what: 'Without annotations, activity begins now',
    tests: [[unit('decisions/decide'), 'begins with now at the first sight, whatever the look shows']],
  },
  {
    id: 'C-05',
    what: 'No kernels, or no answer: the latest activity stays as it is',
    tests: [[unit('looks/kernels'), 'shows nothing without kernels']],
  },
  {
    id: 'C-06',
    what: 'A kernel that is not idle: activity now',
    tests: [
      [unit('decisions/decide'), 'is now while it is busy, and the newest that the look shows else'],
      [unit('looks/kernels'), 'shows work when one kernel starts and another one has hung'],
    ],
    departs:
      'a kernel that is `dead` or `terminating` is none; one that is `starting` for over 10 minutes counts by its latest activity',
  },
  {
    id: 'C-07',
    what: 'All kernels idle: the newest activity of a kernel',
    tests: [[unit('looks/kernels'), 'shows the newest activity when all kernels are idle']],
  },
  {
    id: 'C-08',
    what: 'Stopped if idle for *longer* than the time; an annotation that cannot be read is logged and skipped',
    tests: [
      [unit('decisions/decide-model'), 'warns and stops at the exact times, whatever the rule'],
      [unit('decisions/stamps'), 'unreadable names the annotations that are no times'],
    ],
  },
  {
    id: 'C-09',
    what: '`IDLENESS_CHECK_PERIOD` and `CULL_IDLE_TIME` in minutes, from the environment',
    tests: [
      [culling, 'takes both times in minutes'],
      [notebooks, 'it has its environment as the last rule, and says which value it does not take'],
    ],
  },
  {
    id: 'C-10',
    what: 'Stops are counted: `notebook_culling_total`, `last_notebook_culling_timestamp_seconds`',
    tests: [
      [notebooks, 'an idle notebook is stopped by its annotation, after its time-out, by one of them'],
      ['src/telemetry/culling-metrics.test.ts', 'CullingMetrics keeps those that were stopped last, a bounded number'],
    ],
    departs: '1,000 series at most, of those that were stopped last',
  },
  {
    id: 'C-11',
    what: 'Other tools: activity by the traffic of a proxy, or by a sidecar',
    tests: [
      [unit('looks/probe'), 'reads a time by its pointer, without any Jupyter server'],
      [unit('looks/prometheus-text'), 'compares the sum of a counter with the reading before'],
    ],
  },
  {
    id: 'C-12',
    what: 'The defaults of Kubeflow; a bad value is logged, and the default counts',
    tests: [
      [culling, 'adds a last rule for notebooks by kernels alone, without a warning, with the defaults of Kubeflow'],
      [culling, 'changes nothing when ENABLE_CULLING is %j'],
      [culling, 'takes the default instead of %j, and says so'],
    ],
    departs: '`CLUSTER_DOMAIN` and `DEV` have no effect, since no name is looked up',
  },
  {
    id: 'C-13',
    what: 'Stopped, or without a pod: both times are removed',
    tests: [
      [unit('decisions/stamps'), 'withoutActivity removes both times where one stands'],
      [notebooks, 'the annotation by hand stops a notebook, and its removal starts it with times of its own'],
    ],
  },
  {
    id: 'C-14',
    what: 'Changes between two looks cause no further look',
    tests: [[unit('engine'), 'checks each once in a period, by whichever of two replicas takes it']],
  },
  {
    id: 'C-15',
    what: '10 s for a look; the path `/notebook/<ns>/<name>/api/kernels`',
    tests: [
      [unit('looks/probe'), 'has one deadline for all questions together'],
      [
        unit('notebooks/owner'),
        'reads what rules match by, and where its own container is asked, without a credential',
      ],
    ],
    departs: 'the address of the pod or of the Service, never a name',
  },
  {
    id: 'C-20',
    what: 'No answer is not idleness: an event and a metric, and a stop only by a rule that says so',
    tests: [
      [unit('decisions/decide'), 'tells it once when it lasts, and once when it is over, and stops nobody'],
      [notebooks, 'a notebook that does not answer is never stopped, and is when it answers that it is idle'],
    ],
  },
  {
    id: 'C-21',
    what: 'Those that hang delay nobody',
    tests: [[unit('engine'), 'lets those that hang delay nobody else']],
  },
  {
    id: 'C-22',
    what: 'The newest of all sources; it never falls',
    tests: [
      [unit('looks/probe'), 'shows the newest activity of all sources'],
      [unit('decisions/decide-model'), 'stops nobody whom the reference would not, and never forgets activity'],
      [unit('rest/activities'), 'note activity of now, and end a keep-alive'],
    ],
    departs: 'no exec into pods: it would be a right to everything in them',
  },
  {
    id: 'C-23',
    what: 'A look is no activity: `?no_track_activity=1`',
    tests: [[unit('looks/probe'), 'asks for kernels, then for terminals, with the token and without tracking']],
  },
  {
    id: 'C-24',
    what: 'Times ahead count as now; 1 MiB, no redirect, no name that a user decides',
    tests: [
      [unit('looks/kernels'), 'counts activity ahead of the answer as activity of now'],
      [unit('looks/probe'), 'is unreachable after an answer that is not JSON, and quotes nothing of it'],
    ],
  },
  {
    id: 'C-25',
    what: 'A maximum age, rules, keep-alive with a maximum, a warning, `eligibleAfter`',
    tests: [
      [unit('decisions/decide-model'), 'stops at the end of its age when it is busy all the time'],
      [unit('decisions/rules'), 'finds the first rule that matches'],
      [unit('rest/activities'), 'grants what the rule permits, and says which limit it was'],
      [unit('rest/feed'), 'sends an event to its owner, to its lab and to administrators, and to nobody else'],
      [unit('decisions/decide'), 'warns once, before the stop, with the time'],
    ],
  },
  {
    id: 'C-26',
    what: 'One write of a look at most; none with `onchange` while nothing changes',
    tests: [
      [unit('decisions/stamps'), 'writes both when activity moved by five minutes, and nothing before'],
      [notebooks, 'a busy notebook runs on, with one write for each look'],
    ],
  },
  {
    id: 'C-27',
    what: 'One replica looks in a period; after its end another one does',
    tests: [[unit('engine'), 'gives up its checks when it stops, and another replica follows after 20 s']],
  },
]
