/** Makes the parts of a gateway, and joins them. Nothing runs yet. It knows Redis and apps, and nothing of Kubernetes. */
import { trustIn } from '../../base/source.ts'
import { hostsOf } from '../../gateway/policy/hosts.ts'
import { Pump } from '../../gateway/pump.ts'
import { Activity } from '../../gateway/server/activity.ts'
import { Carrier } from '../../gateway/server/carrier.ts'
import { Door } from '../../gateway/server/door.ts'
import { Gateway } from '../../gateway/server/gateway.ts'
import { Judge, type JudgeParts } from '../../gateway/server/judge.ts'
import { OwnPages } from '../../gateway/server/own-pages.ts'
import { Sockets } from '../../gateway/websocket/sockets.ts'
import type { SourceResult } from '../../identity/source.ts'
import type { Settings } from '../../settings/load.ts'
import { IntentStore } from '../../store/apps/intents.ts'
import { TouchStore } from '../../store/touches.ts'
import { TrafficStore } from '../../store/traffic.ts'
import { beginGatewayAtZero, createGatewayMetrics } from '../../telemetry/gateway-metrics.ts'
import { type Basics, type CreateTracing, makeBasics } from '../basics.ts'
import { createIdentity } from '../identity.ts'
import type { Stage } from '../part.ts'
import { addProcessGauges } from '../process-gauges.ts'
import { joinRequestAudit, type RequestAudit } from '../request-audit.ts'
import { tlsOf } from '../tls.ts'
import { joinAccess } from './access.ts'
import { joinEntering } from './entering.ts'

export type GatewayReplica = ReturnType<typeof makeGatewayReplica>

/** Servers keep a free connection for 2 s at least, those of Python's gunicorn. */
const freeMs = 1500
/** For the rest of an upload after its answer. */
const lingerMs = 10_000

/** @param createTracing only if traces are sent */
export function makeGatewayReplica(settings: Settings, createTracing?: CreateTracing) {
  const basics = makeBasics(settings, createTracing)
  const { config, clock, log } = basics
  const onRequest = (result: SourceResult, seconds: number) =>
    basics.metrics.identityRequestDuration.observe({ result }, seconds)
  const identity = createIdentity(settings, { clock, log, onRequest })
  const audit = joinRequestAudit(basics)
  const gatewayMetrics = createGatewayMetrics(basics.metrics.registry, {
    open: () => carrier.open,
    routes: () => (access.routes.isWhole ? access.routes.size : undefined),
  })
  const access = joinAccess(basics, identity, gatewayMetrics, onRequest)
  const { connection, keys } = access
  const touches = new TouchStore(connection, keys)
  const traffic = new TrafficStore({ touches, clock, gateway: settings.replica, kinds: ['app'] })
  const activity = new Activity({ traffic, clock, log })
  const sockets = new Sockets({ clock, onDrained: () => gatewayMetrics.cuts.inc({ reason: 'drained' }) })
  const pump = new Pump(pumpLimits(basics))
  const stallMs = config.api.limits.stallTimeoutSeconds * 1000
  const hosts = hostsOf(config.gateway)
  const wayIn = hosts.areSplit ? joinEntering(basics, access, hosts) : undefined
  const common = { hosts, wayIn, config: config.gateway, clock, log, metrics: basics.metrics, gatewayMetrics }
  const onGuess = guessReport(audit.auditor)
  const judge = new Judge({ access: access.access, identity, tries: access.tries, clock, wayIn, onGuess })
  const carrier = new Carrier({ ...common, cuts: access.cuts, judge, activity, sockets, stallMs })
  let isOpen = false
  const gateway = new Gateway({
    ...{ ...common, tracing: basics.tracing, limits: config.api.limits, isOpen: () => isOpen },
    ...{ isTrusted: trustIn(config.gateway.trustedProxies), pump, carrier },
    judge,
    pages: new OwnPages({
      ...{ ...common, provider: config.identity.provider, access: access.access },
      ...{ login: access.source.pages(access), logins: access.logins },
      ...{ intents: new IntentStore(connection, keys), auditor: audit.auditor },
    }),
  })
  const tls = tlsOf(basics)
  const { limits } = config.api
  const doorParts = { limits, gateway: config.gateway, clock, certificates: tls?.certificates }
  const door = new Door(doorParts, gateway)
  beginGatewayAtZero(gatewayMetrics)
  addProcessGauges(basics, connection)
  const open = () => {
    isOpen = true
  }
  const stages = stagesOf(basics, { access, pump, flush: audit.flush })
  return { basics, access, identity, activity, sockets, door, certificates: tls?.certificates, open, stages }
}

/** A line of the audit log for a token that nobody has, as for one that the form gets. */
const guessReport =
  (auditor: RequestAudit['auditor']): JudgeParts['onGuess'] =>
  ({ id, from }, is) => {
    const request = { id, ...(is === 'slow' && { status: 429 }) }
    const object = { kind: 'session' }
    auditor.request({
      ...{
        action: 'session.begin',
        result: 'refused',
        reason: is,
        actor: { kind: 'anonymous' },
        object,
        from,
        request,
      },
    })
  }

const pumpLimits = ({ config: { gateway } }: Basics) => ({
  ...{ headMs: gateway.headSeconds * 1000, idleMs: gateway.idleSeconds * 1000, freeMs, lingerMs },
  connections: gateway.limits.connectionsPerApp,
})

interface StageParts {
  readonly access: ReturnType<typeof joinAccess>
  readonly pump: Pump
  readonly flush: () => void
}

/** All parts, in the order in which they start; they close in the reverse order. */
function stagesOf({ tracing }: Basics, { access, pump, flush }: StageParts): readonly Stage[] {
  const { connection } = access
  return [
    { when: 'first', parts: [{ start: () => connection.open(), close: () => connection.close() }] },
    { when: 'first', parts: [{ close: flush }, { close: () => tracing.close() }] },
    { when: 'connected', parts: [access.part, { close: () => pump.close() }] },
  ]
}
