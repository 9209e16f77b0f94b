/** Schemas of requests and answers about activity. */
import { z } from '@hono/zod-openapi'
import { sourceNames, type WorkloadKind, workloadKinds } from '../../config/idle.ts'
import { shownSources, shownStates } from '../../idle/rest/service.ts'
import { component } from '../document/components.ts'
import { type Bounds, named, userPath } from '../document/schemas.ts'

/** A year: nobody keeps anything for longer by one request. */
const longestSeconds = 31_536_000

const namespace = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'is not the name of a namespace' })
  .openapi({ description: 'its namespace', example: 'blue' })
const objectName = (description: string, example: string) =>
  z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, { error: 'is not the name of an object' })
    .openapi({ description, example })

/** The parameters of the path, by kind. */
export function pathsOf(bounds: Bounds): Readonly<Record<WorkloadKind, z.ZodObject>> {
  const object = z.object({ namespace, name: objectName('its name', 'sky') })
  return {
    lab: userPath(bounds),
    app: z.object({ id: objectName('the id of the app', 'sky-viewer') }),
    notebook: object,
    statefulset: object,
  }
}

const time = (description: string) =>
  z
    .string()
    .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/)
    .describe(description)

const activity = {
  kind: z.enum(workloadKinds).describe('what it is'),
  id: z.string().describe('a lab has the name of its user, a notebook its namespace, a slash and its name'),
  state: z
    .enum(shownStates)
    .describe(
      '`active`, `idle`; `warned`: it is stopped at `eligibleAfter` unless it is used; `stopping`, `stopped`; `unknown`: it was not looked at yet, or does not answer',
    ),
  lastActivity: time('the latest activity that is known').exactOptional(),
  source: z.enum(shownSources).describe('where that was seen; `annotation`: a person has written it').exactOptional(),
  checkedAt: time('the last look that was answered').exactOptional(),
  rule: z.string().describe('the rule that matches; absent: it is never stopped').exactOptional(),
  eligibleAfter: time('when it may be stopped at the earliest if nothing happens; absent: never').exactOptional(),
  keepUntil: time('until when it is kept on request').exactOptional(),
  stopped: component('Stop', z.object({ at: time('when'), why: z.string().describe('why, in words') }), 'the last stop')
    .exactOptional()
    .describe('for seven days'),
}

export const workloadActivity = named('Activity', z.object(activity))

export const activityPage = named(
  'ActivityPage',
  z.object({
    workloads: z
      .array(component('WorkloadActivity', z.object(activity), 'the activity of a workload'))
      .describe('by id, 100 at most'),
    next: z.string().describe('path of the next page; absent: this is the last one').exactOptional(),
  }),
)

export const keepBody = named(
  'KeepAlive',
  z.strictObject({
    seconds: z.number().int().min(1).max(longestSeconds).describe('how long, from now on; the rule may grant less'),
  }),
  'input',
)

export const keptAnswer = named(
  'Kept',
  z.object({
    until: time('the end that was granted'),
    limitedBy: z
      .enum(['keepAlive.maxSeconds', 'maxAgeSeconds'])
      .describe('what of the rule granted less than was asked for; absent: nothing')
      .exactOptional(),
  }),
)

const patterns = (what: string) => z.array(z.string()).describe(what).exactOptional()

const rule = component(
  'IdleRule',
  z.object({
    name: z.string().describe('name of the rule'),
    match: z
      .object({
        kinds: z.array(z.enum(workloadKinds)).describe('kinds').exactOptional(),
        sizes: patterns('sizes of labs'),
        images: patterns('references of the image'),
        users: patterns('users'),
        groups: patterns('groups'),
        tenants: patterns('LNamespaces'),
        namespaces: patterns('namespaces'),
      })
      .describe('what it matches: all that are given'),
    sources: z.array(z.enum(sourceNames)).describe('where activity is looked for'),
    idleTimeoutSeconds: z.number().describe('time without activity before a stop; absent: never').exactOptional(),
    maxAgeSeconds: z.number().describe('age at which even a busy one is stopped; absent: never').exactOptional(),
    warnSeconds: z.number().describe('warning before a stop'),
    keepAliveMaxSeconds: z.number().describe('longest keep-alive of one request; 0: none'),
    unreachable: z
      .object({
        afterSeconds: z.number().describe('how long it must give no answer'),
        // biome-ignore lint/suspicious/noThenProperty: the word of the configuration; no promise is made of it
        then: z.enum(['report', 'stop']).describe('what is done then'),
      })
      .describe('what is done about one that does not answer'),
  }),
  'a rule, as the configuration has it',
)

export const policyAnswer = named(
  'IdlePolicy',
  z.object({
    kinds: z.array(z.enum(workloadKinds)).describe('the kinds that this process looks at'),
    checkPeriodSeconds: z.number().describe('interval of looks at a workload'),
    restPeriodSeconds: z.number().describe('the same while its end is further away than this'),
    stopsPerMinute: z.number().describe('stops of a kind within a minute; others wait'),
    rules: z.array(rule).describe('the first that matches a workload decides'),
  }),
)
