/** For tests: the API of containers without a port, with scripted services. Every answer must be documented. */
import { Registry } from 'prom-client'
import { createDispatchApi } from '../../../src/api/dispatch/app.ts'
import { type DispatchApiParts, managementRoot, prefixes } from '../../../src/api/dispatch/parts.ts'
import { containerExample, documentWords, exampleInstances, exampleQueued } from '../../../src/api/dispatch/words.ts'
import { apiDocument } from '../../../src/api/document/document.ts'
import { configSchema } from '../../../src/config/schema.ts'
import type { Management } from '../../../src/containers/management.ts'
import { noContainer } from '../../../src/containers/problems.ts'
import type { Containers } from '../../../src/containers/service.ts'
import { createStaticIdentity } from '../../../src/identity/static.ts'
import { parseEventId } from '../../../src/store/streams.ts'
import type { AuditEvent } from '../../../src/telemetry/audit.ts'
import { createDispatchMetrics } from '../../../src/telemetry/dispatch-metrics.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { noTracing } from '../../../src/telemetry/tracing.ts'
import { Tunnels } from '../../../src/tunnel/tunnels.ts'
import { Visits } from '../../../src/tunnel/visits.ts'
import { ManualClock } from '../clock.ts'
import { Conformance } from './conformance.ts'
import { checkedCalls } from './scripted-api.ts'

const nothing = async () => {
  throw noContainer()
}
/** A site without containers. */
const empty: Containers = {
  create: async () => containerExample as never,
  list: async () => ({ containers: [] }),
  ...{ find: nothing, prioritise: nothing, cancel: nothing, log: nothing, reach: nothing },
  events: async (_, __, lastEventId) => {
    if (lastEventId !== undefined) parseEventId(lastEventId)
    return nothing()
  },
}

const quiet: Management = {
  containers: async () => exampleQueued as never,
  container: async () => exampleQueued.items[0] as never,
  killContainer: async () => {},
  instances: async () => exampleInstances.items as never,
  setBehavior: async () => true,
  killInstance: async () => {},
}

/** `ann` is a user, `root` an administrator, `guest` has no scope, `operator` has the management token: `operator-token`. */
const callers = [
  { username: 'ann', scopes: ['exec:notebook'] },
  { username: 'root', scopes: ['admin:jupyterlab'] },
  { username: 'guest', scopes: [] },
]

export interface DispatchScript {
  readonly containers?: Partial<Containers>
  readonly management?: Partial<Management>
  readonly managementToken?: string | undefined
  readonly config?: object
  /** Of the block `dispatch.Containers`. */
  readonly engine?: 'docker' | 'process'
  readonly lines?: AuditEvent[]
  readonly shellAccess?: { readonly Admin?: boolean; readonly User?: boolean }
  readonly carrier?: Partial<DispatchApiParts['carrier']>
  readonly draining?: AbortSignal
  readonly clock?: ManualClock
  readonly metrics?: DispatchApiParts['metrics']
}

export function dispatchParts(script: DispatchScript = {}) {
  const { containers, management, config = {}, engine = 'docker', lines = [], draining } = script
  const log = silentLogger()
  const registry = new Registry()
  const all: Containers = { ...empty, ...containers }
  const dispatch = {
    ...{ clusterId: 'zzzzz', tokenFile: 'token' },
    Containers: { DispatchPrivateKey: 'key', RuntimeEngine: engine },
    CloudVMs: { Driver: 'loopback', DriverParameters: { Directory: '/nowhere' } },
  }
  return {
    config: configSchema.parse({ dispatch, ...config }),
    identity: createStaticIdentity(
      callers.map(each => ({ ...each, token: `${each.username}-token`, groups: [] })),
      log,
    ),
    metrics: script.metrics ?? createMetrics(registry),
    logMetrics: createDispatchMetrics(registry),
    ...{ tracing: noTracing, clock: script.clock ?? new ManualClock(), log },
    containers: all,
    ...scriptedTunnels(all, lines, script),
    management: { ...quiet, ...management },
    managementToken: 'managementToken' in script ? script.managementToken : 'operator-token',
    auditor: { request: event => void lines.push(event) },
    ...(draining && { draining }),
  } satisfies DispatchApiParts
}

const notCarried = async () => {}

/** The real ones, before containers that nobody reaches. */
function scriptedTunnels(containers: Containers, lines: AuditEvent[], script: DispatchScript) {
  const clock = script.clock ?? new ManualClock()
  const tunnels = new Tunnels({
    ...{ containers, clock, onMore: () => () => {}, keysOf: () => [], limits: { perUser: 1, perReplica: 2 } },
    access: { Admin: true, User: false, ...script.shellAccess },
    visits: new Visits({ clock, auditor: { request: event => void lines.push(event) }, provider: 'static' }),
    sight: { opened: () => {}, refused: () => {}, failed: () => {} },
  })
  const carrier = { request: notCarried, upgrade: notCarried, shell: notCarried, ...script.carrier }
  return { tunnels, carrier }
}

export const dispatchDocument = (script: DispatchScript = {}) =>
  apiDocument(createDispatchApi(dispatchParts(script)), documentWords)

/** By what documents differ in: to make one takes 80 ms. */
const conformances = new Map<string, Conformance>()

function conformanceOf({ config, engine }: DispatchScript): Conformance {
  const key = JSON.stringify([config, engine])
  const known =
    conformances.get(key) ?? new Conformance(dispatchDocument({ ...(config && { config }), ...(engine && { engine }) }))
  conformances.set(key, known)
  return known
}

/**
 * Calls by method, path under the prefix of users, and caller. `/admin` before a path: that of administrators; `=`: as it is; `!`:
 * that of operators.
 */
export function dispatchApi(script: DispatchScript = {}) {
  const app = createDispatchApi(dispatchParts(script))
  return checkedCalls(app, conformanceOf(script), path => {
    if (path.startsWith('=')) return path.slice(1)
    if (path.startsWith('!')) return `${managementRoot}${path.slice(1)}`
    return path.startsWith('/admin/') ? `${prefixes.admin}${path.slice(6)}` : `${prefixes.user}${path}`
  })
}
