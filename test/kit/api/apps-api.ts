/** For tests: the API of apps without a port, with a scripted service. Every answer must be documented. */
import { Registry } from 'prom-client'
import { createAppsApi } from '../../../src/api/apps/app.ts'
import { type AppsApiParts, prefixes } from '../../../src/api/apps/parts.ts'
import { detailExample, documentWords } from '../../../src/api/apps/words.ts'
import { apiDocument } from '../../../src/api/document/document.ts'
import { noApp, noPod, noTemplate } from '../../../src/appcontrol/problems.ts'
import type { Apps } from '../../../src/appcontrol/service.ts'
import type { Templates } from '../../../src/appcontrol/templates.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { createStaticIdentity } from '../../../src/identity/static.ts'
import { createAppApiMetrics } from '../../../src/telemetry/app-api-metrics.ts'
import type { AuditEvent } from '../../../src/telemetry/audit.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { noTracing } from '../../../src/telemetry/tracing.ts'
import { ManualClock } from '../clock.ts'
import { Conformance } from './conformance.ts'
import { checkedCalls } from './scripted-api.ts'

export const version = { detail: detailExample as never, etag: '"uid.3"' }

const nothing = () => {
  throw noApp()
}
/** A site without apps. */
const empty: Apps = {
  list: () => ({ apps: [] }),
  select: () => ({ entries: [], hasNext: false, hasPrevious: false }),
  find: nothing,
  create: async () => nothing(),
  pods: nothing,
  change: async () => nothing(),
  stop: async () => nothing(),
  delete: async () => nothing(),
  events: async () => nothing(),
}

const noTemplates: Templates = {
  list: () => ({ templates: [] }),
  find: () => {
    throw noTemplate()
  },
  read: async () => {
    throw noTemplate()
  },
  put: async () => {
    throw noTemplate()
  },
  make: async () => {
    throw noTemplate()
  },
  delete: async () => {
    throw noTemplate()
  },
}

/** `ann` is a user, `root` an administrator, `guest` has no scope; tokens are `ann-token` and so on. */
const callers = [
  { username: 'ann', scopes: ['exec:notebook'] },
  { username: 'root', scopes: ['admin:jupyterlab'] },
  { username: 'guest', scopes: [] },
]

export interface AppsScript {
  readonly apps?: Partial<Apps>
  readonly templates?: Partial<Templates>
  readonly logs?: AppsApiParts['logs']
  readonly revoke?: AppsApiParts['revoke']
  readonly activity?: AppsApiParts['activity']
  readonly config?: object
  readonly log?: AppsApiParts['log']
  readonly tracing?: AppsApiParts['tracing']
  readonly lines?: AuditEvent[]
  readonly draining?: AbortSignal
}

export function appsParts({ apps, templates, config = {}, lines = [], ...script }: AppsScript = {}) {
  const log = silentLogger()
  const registry = new Registry()
  return {
    config: configSchema.parse(config),
    identity: createStaticIdentity(
      callers.map(each => ({ ...each, token: `${each.username}-token`, groups: [] })),
      log,
    ),
    metrics: createMetrics(registry),
    appMetrics: createAppApiMetrics(registry),
    tracing: noTracing,
    clock: new ManualClock(),
    log,
    apps: filled(apps, empty),
    templates: filled(templates, noTemplates),
    logs: {
      find: async () => {
        throw noPod()
      },
    },
    revoke: async () => {},
    auditor: { request: event => void lines.push(event) },
    ...script,
  } satisfies AppsApiParts
}

/** An instance of a class is whole. */
const filled = <T extends object>(given: Partial<T> | undefined, nothing: T): T =>
  given && Object.getPrototypeOf(given) !== Object.prototype ? (given as T) : { ...nothing, ...given }

export const appsDocument = (script: AppsScript = {}) => apiDocument(createAppsApi(appsParts(script)), documentWords)

/** Calls by method, path under the prefix of users (with `/admin` before it: of administrators; with `=`: as it is), and caller. */
export function appsApi(script: AppsScript = {}) {
  const app = createAppsApi(appsParts(script))
  return checkedCalls(app, new Conformance(appsDocument(script)), path => {
    if (path.startsWith('=')) return path.slice(1)
    return path.startsWith('/admin/') ? `${prefixes.admin}${path.slice(6)}` : `${prefixes.user}${path}`
  })
}
