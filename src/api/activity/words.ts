/** Descriptions and examples of the routes of activity, for the document. */
import type { z } from '@hono/zod-openapi'
import { formatEvent, preamble } from '../sse/sse.ts'
import type { activityPage, keptAnswer, policyAnswer, workloadActivity } from './schemas.ts'

export const tags = [{ name: 'activity', description: 'What is idle, when it is stopped for that, and how it is kept' }]

export const stateWords = `The state by the last look of any replica. A workload that was stopped is shown for seven days, with the reason.`

export const pushWords = `Counts as activity now. It is for programs that work for a user where no look sees them. 204 means that the activity is stored: a
stop that was decided before is refused.`

export const keepWords = `Keeps it from being stopped for idleness. The rule may grant less than was asked for: \`until\` is what was granted, and
\`limitedBy\` names the limit. Ask again before it ends. The highest age (\`maxAgeSeconds\`) is never exceeded.`

export const releaseWords = `Ends a keep-alive; there need not be one. From then on its last activity counts.`

export const listWords = `All that the watches show, in pages by id. What was stopped is not listed.`

export const policyWords = `The rules as the replica that answers has read them. A change of the configuration needs new replicas.`

export const eventsWords = `Server-sent events that go on until the connection ends. \`id\` is \`<series>-<number>\`; \`data\` is a JSON object with \`kind\` and
\`id\` of the workload, and \`at\`, the time of the event; \`event\` is one of
- \`warning\`: it is stopped at \`eligibleAfter\` by the rule \`rule\`, unless it is used
- \`kept\`: that is off, since it was used or is kept
- \`stopping\`: it is being stopped; \`why\` says for which reason
- \`unreachable\`: it has given no answer for as long as its rule says; \`reachable\`: it answers again

Without \`Last-Event-ID\` a stream has events from now on: open it first, then read the state. With it, it goes on after that event,
at any replica. About 10,000 events of all workloads are kept, for seven days at most. If Redis has lost its data, a stream begins
anew with all that are kept since. A comment line is sent after 15 s of silence.`

const at = '2026-01-01T12:00:00.000Z'
const lab = { kind: 'lab', id: 'ada' } as const

export const stateExample: z.output<typeof workloadActivity> = {
  ...{ ...lab, state: 'warned', lastActivity: '2026-01-01T11:08:12.000Z', source: 'kernels' },
  ...{ checkedAt: '2026-01-01T11:58:20.000Z', rule: 'gpu', eligibleAfter: '2026-01-01T12:08:12.000Z' },
}

export const pageExample: z.output<typeof activityPage> = {
  workloads: [stateExample],
  next: '/activity/admin/v1/after/lab/ada',
}

export const keptExample: z.output<typeof keptAnswer> = { until: at, limitedBy: 'keepAlive.maxSeconds' }

export const policyExample: z.output<typeof policyAnswer> = {
  ...{ kinds: ['lab'], checkPeriodSeconds: 60, restPeriodSeconds: 300, stopsPerMinute: 20 },
  rules: [
    {
      ...{ name: 'gpu', match: { kinds: ['lab'], sizes: ['gpu-*'] }, sources: ['kernels', 'terminals', 'push'] },
      ...{ idleTimeoutSeconds: 3600, maxAgeSeconds: 604_800, warnSeconds: 600, keepAliveMaxSeconds: 86_400 },
      // biome-ignore lint/suspicious/noThenProperty: the word of the configuration; no promise is made of it
      unreachable: { afterSeconds: 3600, then: 'report' },
    },
  ],
}

const example = (id: string, event: string, data: object) => ({
  id,
  event,
  data: JSON.stringify({ ...data, ...lab, at }),
})
const exampleEvents = [
  example('1767225600000-7', 'warning', { eligibleAfter: stateExample.eligibleAfter, rule: 'gpu' }),
  example('1767225600000-9', 'kept', { rule: 'gpu' }),
]

/** A stream, as text. */
export const exampleStream = `${preamble}${exampleEvents.map(formatEvent).join('')}`
