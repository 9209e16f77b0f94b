/** Metrics of a gateway. Their labels name no app and no person. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface GatewayGaugeSources {
  /** Requests and WebSockets that are open now. */
  open(): Readonly<Record<'request' | 'websocket', number>>
  /** Apps that have a route here; undefined before the table was read. */
  routes(): number | undefined
}

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>

const endings = ['done', 'refused', 'silent', 'unframed', 'cut', 'gone']
const refusals = [
  ...[
    'malformed',
    'login',
    'forbidden',
    'unknown',
    'unavailable',
    'origin',
    'phase',
    'stopping',
    'busy',
    'form',
    'entry',
    'elsewhere',
    'slow',
  ],
]
const cuts = ['ended', 'forbidden', 'gone', 'stopped', 'unavailable', 'drained']
const logins = ['in', 'refused', 'denied', 'foreign', 'forbidden', 'revoked', 'other', 'unavailable', 'slow']
const rechecks = ['same', 'changed', 'ended', 'silent']

export function createGatewayMetrics(registry: Registry, sources: GatewayGaugeSources) {
  const registers = [registry]
  addGauges(registry, sources)
  return {
    exchanges: new Counter({
      name: 'skylab_gateway_exchanges_total',
      help: 'Requests that this replica carried to apps, by kind (request, websocket) and ending (done; refused: the app took no connection, or gave no HTTP; silent: no answer in time; unframed: a body that cannot be carried; cut: the app broke off its answer; gone: the client left)',
      labelNames: ['kind', 'ending'] as const,
      registers,
    }),
    refusals: new Counter({
      name: 'skylab_gateway_refusals_total',
      help: 'Requests that this replica carried to no app, by reason (malformed; login: nobody is logged in; forbidden: not a member; unknown: there is no such app; unavailable: it could not be judged; origin: a page of another site asks for it; phase: the app does not run; stopping: for idleness; busy: a bound was met; form: a form without its token; entry: a way to the host of an app that does not hold; elsewhere: the app is at another host; slow: an address sent too many unknown tokens or logins)',
      labelNames: ['reason'] as const,
      registers,
    }),
    cuts: new Counter({
      name: 'skylab_gateway_cuts_total',
      help: 'Open requests and WebSockets that this replica ended, by reason (ended: the login or the session; forbidden: not a member any more; gone: the app; stopped: the app; unavailable: Redis has not answered for a minute, or the identity provider for five; drained: this replica ends)',
      labelNames: ['reason'] as const,
      registers,
    }),
    logins: new Counter({
      name: 'skylab_gateway_logins_total',
      help: 'Tries to log in at this replica, by result (in; refused: nobody is known by this token; denied: the identity provider refuses; foreign: it did not begin in this browser, took too long, or came back twice; forbidden: the account lacks the scope; revoked: meanwhile; other: somebody else is logged in there; unavailable; slow: there were too many)',
      labelNames: ['result'] as const,
      registers,
    }),
    rechecks: new Counter({
      name: 'skylab_gateway_rechecks_total',
      help: 'Questions of this replica to the identity provider about logins that are used, by result (same; changed: other groups; ended: it knows the login no more; silent: no usable answer, so its last word holds for 300 s)',
      labelNames: ['result'] as const,
      registers,
    }),
    sessionsAsked: new Counter({
      name: 'skylab_gateway_sessions_asked_total',
      help: 'Sessions that this replica asked Redis about; what it knows holds for 5 s',
      registers,
    }),
    brokenEntries: new Gauge({
      name: 'skylab_gateway_broken_entries',
      help: 'Entries of a table in Redis that this replica cannot read, and leaves out, by table (routes, members)',
      labelNames: ['table'] as const,
      registers,
    }),
  }
}

export function beginGatewayAtZero(metrics: GatewayMetrics): void {
  for (const kind of ['request', 'websocket']) {
    for (const ending of endings) metrics.exchanges.inc({ kind, ending }, 0)
  }
  for (const reason of refusals) metrics.refusals.inc({ reason }, 0)
  for (const reason of cuts) metrics.cuts.inc({ reason }, 0)
  for (const result of logins) metrics.logins.inc({ result }, 0)
  for (const result of rechecks) metrics.rechecks.inc({ result }, 0)
  for (const table of ['routes', 'members']) metrics.brokenEntries.set({ table }, 0)
}

function addGauges(registry: Registry, { open, routes }: GatewayGaugeSources): void {
  const registers = [registry]
  new Gauge({
    name: 'skylab_gateway_open',
    help: 'Requests to apps, and WebSockets of apps, that are open at this replica now, by kind (request, websocket)',
    labelNames: ['kind'] as const,
    registers,
    collect() {
      for (const [kind, count] of Object.entries(open())) this.set({ kind }, count)
    },
  })
  new Gauge({
    name: 'skylab_gateway_routes',
    help: 'Apps that have a route at this replica; missing before it has read them',
    registers,
    collect() {
      const count = routes()
      if (count === undefined) this.remove()
      else this.set(count)
    },
  })
}
