/** For tests: replicas that reconcile samples on an API server in memory. */
import { Registry } from 'prom-client'
import { ManualClock } from '../../../test/kit/clock.ts'
import { keepingLog } from '../../../test/kit/log.ts'
import {
  type SampleSights,
  type SampleSpec,
  sample,
  sampleKind,
  sampleWatches,
} from '../../../test/kit/reconcile/sample.ts'
import { colourKind } from '../../../test/kit/reconcile/sample-colour.ts'
import type { KubeObject } from '../../base/domain.ts'
import { RetryLater } from '../../base/errors.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { Holding } from '../held.ts'
import { Reconciler } from '../reconciler.ts'
import type { Kind } from '../types.ts'
import { FakeApi, type Selects } from './api.ts'

/** Leases as Redis keeps them. */
export class FakeLeases {
  readonly held = new Set<string>()
  /** Number of calls that asked for a lease. */
  asked = 0
  silent = false
  /** Everyone gets every lease, as if those before had lapsed. */
  lapsing = false

  /** Redis answers when this is resolved. */
  late: Promise<void> | undefined
  /** Redis takes leases back when this is resolved. */
  kept: Promise<void> | undefined
  /** The error that asking for a lease throws. */
  defect: Error | undefined

  acquireTask = async (key: string) => {
    this.asked += 1
    await this.late
    if (this.defect) throw this.defect
    if (this.silent) throw new RetryLater('Redis does not answer')
    if (this.held.has(key) && !this.lapsing) return null
    this.held.add(key)
    const release = async () => {
      await this.kept
      this.held.delete(key)
    }
    return { token: 'token-of-lease', release }
  }
}

export interface ReplicaOptions {
  readonly flavour?: string
  readonly change?: (kind: Kind<SampleSights>) => Kind<SampleSights>
  readonly room?: number
  readonly resyncMs?: number
  /** Selects the objects that the watches show. Default: all. */
  readonly selects?: Selects
}

/** Everything passes in the time of one clock, which the test moves. */
export class Samples {
  readonly clock = new ManualClock()
  readonly api = new FakeApi()
  readonly leases = new FakeLeases()
  readonly log = keepingLog()
  readonly failpoints: string[] = []
  readonly #reconcilers: Reconciler<SampleSights>[] = []

  replica({ flavour = 'a', change = kind => kind, room = 4, resyncMs, selects }: ReplicaOptions = {}) {
    const { clock, api, leases, log } = this
    const sights = Object.fromEntries(
      Object.entries(sampleWatches).map(([name, { apiVersion, kind, paths }]) => [
        name,
        api.sight(apiVersion, kind, paths, clock, selects),
      ]),
    ) as unknown as SampleSights
    const metrics = createMetrics(new Registry())
    const common = {
      ...{
        kube: api.client,
        leases,
        holding: new Holding(clock),
        leaseKey: (name: string) => name,
        lockKey: (name: string) => `lock-of:${name}`,
        leaseTtlMs: 10_000,
        room,
        clock,
        log,
        metrics,
      },
      ...(resyncMs !== undefined && { resyncMs }),
      failpoint: (name: string) => void this.failpoints.push(name),
    }
    const reconciler = new Reconciler({ kind: change(sampleKind({ sights, flavour })), ...common })
    const colours = new Reconciler({ kind: colourKind(sights), ...common })
    this.#reconcilers.push(reconciler, colours)
    for (const each of [reconciler, colours]) each.start()
    return { sights, reconciler, colours, metrics }
  }

  put(name: string, spec: Partial<SampleSpec> = {}, more: object = {}): KubeObject {
    const object = sample('n', name, spec)
    const known = this.get('Sample', name)
    const generation = Number(known?.metadata.generation ?? 0) + 1
    return this.api.put({
      ...object,
      metadata: { ...object.metadata, ...(known && { uid: known.metadata.uid! }), generation, ...more },
      ...(known?.status !== undefined && { status: known.status }),
    })
  }

  get(kind: string, name: string): KubeObject | undefined {
    const { apiVersion } = Object.values(sampleWatches).find(watch => watch.kind === kind)!
    return this.api.objects.get(`${apiVersion} ${kind} n/${name}`)
  }

  /** Names of the objects of a kind. */
  names(kind: string): string[] {
    return [...this.api.objects.values()].filter(each => each.kind === kind).map(({ metadata }) => metadata.name)
  }

  phase(name: string): unknown {
    return (this.get('Sample', name)?.status as { phase?: unknown } | undefined)?.phase
  }

  /** Lets time pass in small steps, with all that happens meanwhile. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 10) {
      this.clock.advance(Math.min(10, left))
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  /** Records the reads from now on, as `<kind> <name>`. */
  reads(): readonly string[] {
    const reads: string[] = []
    const { get } = this.api.client
    this.api.client.get = (object, options) => {
      reads.push(`${object.kind} ${object.name}`)
      return get(object, options)
    }
    return reads
  }

  /** Forgets the writes so far. */
  written(): string[] {
    return this.api.writes.splice(0)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reconcilers.map(reconciler => reconciler.stop()))
  }
}
