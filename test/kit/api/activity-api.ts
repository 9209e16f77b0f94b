/** For tests: an API with the routes of activity, without a port, with a scripted service. Every answer must be documented. */
import { activityFeature } from '../../../src/api/activity/app.ts'
import type { ActivityParts } from '../../../src/api/activity/parts.ts'
import { createApi } from '../../../src/api/app.ts'
import { apiDocument } from '../../../src/api/document/document.ts'
import type { ApiParts } from '../../../src/api/request/env.ts'
import { workloadKinds } from '../../../src/config/idle.ts'
import type { ActivityService } from '../../../src/idle/rest/service.ts'
import type { AuditEvent } from '../../../src/telemetry/audit.ts'
import { Conformance } from './conformance.ts'
import { apiParts, checkedCalls } from './scripted-api.ts'

/** A site with all kinds, where nothing runs. A notebook or an app whose name begins with `rra` is that user's. */
export function scriptedActivity(script: Partial<ActivityService> = {}): ActivityService {
  return {
    kinds: workloadKinds,
    policy: () => ({
      kinds: workloadKinds,
      checkPeriodSeconds: 60,
      restPeriodSeconds: 300,
      stopsPerMinute: 20,
      rules: [],
    }),
    list: async () => ({ workloads: [] }),
    find: async () => undefined,
    ownerOf: ({ kind, id }) => {
      if (kind === 'lab') return id
      return id.split('/').at(-1)!.startsWith('rra') ? 'rra' : undefined
    },
    push: async () => 'none',
    keep: async () => 'none',
    release: async () => 'none',
    events: async () => ({ read: async function* () {} }),
    ...script,
  }
}

export interface ActivityScript extends Partial<ActivityService> {
  readonly verifyLab?: ActivityParts['verifyLab']
  readonly lines?: AuditEvent[]
}

/** The token of the present lab of `rra`. */
export const labToken = '1767225600000000.0123456789ab.token-of-the-lab'

function featureOf({ verifyLab, lines = [], ...script }: ActivityScript) {
  return activityFeature({
    activity: scriptedActivity(script),
    verifyLab: verifyLab ?? (async (username, token) => username === 'rra' && token === labToken),
    auditor: { request: event => void lines.push(event) },
  })
}

export const activityDocument = (config: object = {}) =>
  apiDocument(createApi(apiParts({}, {}, config), [featureOf({})]))

/** Made once: no test changes what the document says. */
let conformance: Conformance | undefined

/** Calls by method, path below `/activity`, and token: a caller's name, or `lab` for the token of a lab. */
export function activityApi(script: ActivityScript = {}, parts: Partial<ApiParts> = {}, api: object = {}) {
  const app = createApi(apiParts(parts, api), [featureOf(script)])
  conformance ??= new Conformance(activityDocument())
  const tokenOf = (who: string) => (who === 'lab' ? labToken : `${who}-token`)
  return checkedCalls(app, conformance, path => `/activity${path}`, tokenOf)
}
