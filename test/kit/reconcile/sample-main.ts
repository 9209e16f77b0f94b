/** A replica that reconciles samples, as a process of its own. Its options are JSON in the environment variable SAMPLE. */
import { Registry } from 'prom-client'
import { systemClock } from '../../../src/base/clock.ts'
import { failpoint } from '../../../src/base/failpoint.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { KubeClient } from '../../../src/kube/client.ts'
import { Reflector } from '../../../src/kube/reflector.ts'
import { Leases } from '../../../src/leases/leases.ts'
import { factOf } from '../../../src/reconcile/facts.ts'
import { Holding } from '../../../src/reconcile/held.ts'
import { Reconciler } from '../../../src/reconcile/reconciler.ts'
import type { RivalsOptions } from '../../../src/reconcile/rivals.ts'
import { Sight } from '../../../src/reconcile/sight.ts'
import type { Fact } from '../../../src/reconcile/types.ts'
import { Connection } from '../../../src/store/connection.ts'
import { Keys } from '../../../src/store/keys.ts'
import { TaskStore } from '../../../src/store/tasks.ts'
import { StreamSink } from '../../../src/telemetry/audit-sinks.ts'
import { createLogger } from '../../../src/telemetry/log.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { type SampleSights, sampleKind, sampleWatches } from './sample.ts'
import { colourKind } from './sample-colour.ts'
import { routesIn } from './sample-route.ts'

export interface SampleProcessOptions {
  readonly kubeconfig: string
  readonly namespace: string
  readonly redisUrl: string
  readonly keyPrefix: string
  readonly flavour: string
  readonly rivals: RivalsOptions
}

/** The TTL of the replicas' leases. */
export const sampleTtlMs = 3_000

const options = JSON.parse(process.env.SAMPLE!) as SampleProcessOptions
const replica = process.env.SKYLAB_REPLICA!
const clock = systemClock
const log = createLogger({ level: 'debug', replica, destination: new StreamSink('stdout', 1) })
const metrics = createMetrics(new Registry())

const kube = new KubeClient({
  kubernetes: { kubeconfig: options.kubeconfig, requestTimeoutSeconds: 10, maxInFlight: 64 },
  version: 'sample',
  replica,
  clock,
  log,
})

const config = configSchema.shape.redis.parse({ url: options.redisUrl, keyPrefix: options.keyPrefix })
const connection = new Connection({ config, clock })
connection.open()
const keys = new Keys(options.keyPrefix)
const unused = async () => {
  throw new Error('a sample owns no operation')
}
const leases = new Leases({
  redis: connection.commands,
  owners: { extend: unused, giveBack: unused },
  tasks: new TaskStore(connection),
  keyOf: user => keys.lease(user),
  clock,
  ttlMs: sampleTtlMs,
})

const reflectors: Reflector<Fact>[] = []
const sights = Object.fromEntries(
  Object.entries(sampleWatches).map(([name, { apiVersion, kind, paths }]) => {
    const project = (object: Parameters<typeof factOf>[0]) => factOf(object, paths)
    const scope = { client: kube, apiVersion, kind, namespace: options.namespace }
    const reflector = new Reflector<Fact>({ ...scope, project, clock, log })
    reflectors.push(reflector)
    return [name, new Sight({ reflector, apiVersion, kind, project, clock })]
  }),
) as unknown as SampleSights

const writeRoute = routesIn(connection.commands, options.keyPrefix)
const sample = { sights, flavour: options.flavour, writeRoute }
const common = {
  ...{ kube, leases, holding: new Holding(clock), room: 16 },
  ...{ leaseKey: (name: string) => keys.reconcileLease(name), lockKey: (name: string) => keys.reconcileLock(name) },
  ...{ leaseTtlMs: sampleTtlMs, clock, log, metrics, failpoint, rivals: options.rivals },
}
const reconcilers = [
  new Reconciler({ kind: sampleKind(sample), ...common }),
  new Reconciler({ kind: colourKind(sights), ...common }),
]
for (const reflector of reflectors) reflector.start()
for (const reconciler of reconcilers) reconciler.start()
await Promise.all(reflectors.map(reflector => reflector.whenSynced(new AbortController().signal)))
log.info({}, 'ready')

process.on('SIGTERM', async () => {
  await Promise.all(reconcilers.map(reconciler => reconciler.stop()))
  await Promise.all(reflectors.map(reflector => reflector.stop()))
  await leases.close()
  connection.close()
  await kube.close()
  process.exit(0)
})
