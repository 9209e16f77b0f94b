/** A prepuller with a fake cluster, store and clock. */
import { Registry } from 'prom-client'
import { ManualClock } from '../../../test/kit/clock.ts'
import { catalogueOf, FakeCluster, image } from '../../../test/kit/images/cluster.ts'
import { keepingLog } from '../../../test/kit/log.ts'
import { configSchema } from '../../config/schema.ts'
import type { PrepullReading, PrepullRecords } from '../../store/prepulls.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import type { Catalogue } from '../catalogue/types.ts'
import { Prepuller, type PrepullerOptions } from '../prepull/prepuller.ts'

/** The records in Redis, and the one lease. */
export class FakeStore {
  readonly lease = 'lease'
  records: PrepullRecords = { prepulled: new Map(), failures: new Map() }
  holder = ''
  readonly #clock: ManualClock

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  async read(token = ''): Promise<PrepullReading> {
    return { held: token !== '' && token === this.holder, nowMs: this.#clock.wallMs(), records: this.records }
  }

  async write(token: string, _before: PrepullRecords, after: PrepullRecords): Promise<boolean> {
    if (token !== this.holder) return false
    this.records = after
    return true
  }

  /** One replica's view of the lease. */
  replica(name: string): PrepullerOptions['leases'] {
    return {
      acquireTask: async () => {
        if (this.holder && this.holder !== name) return null
        this.holder = name
        const release = async () => {
          if (this.holder === name) this.holder = ''
        }
        return { token: name, release }
      },
    }
  }
}

export const weekly = image('w_2026_01')

/** After this long without changes the prepuller acts on the next one at once. */
export const quietMs = 1000

/** Lets everything run that does not wait for the clock. */
export const settled = () => new Promise<void>(resolve => setImmediate(resolve))

/** Two nodes, and the weekly, which must be pulled onto both. */
export class PrepullStage {
  readonly clock = new ManualClock()
  readonly cluster = new FakeCluster()
  readonly store = new FakeStore(this.clock)
  readonly log = keepingLog()
  readonly metrics = createMetrics(new Registry())
  catalogue: Catalogue | null = catalogueOf(weekly)
  readonly #made: Prepuller[] = []

  constructor() {
    for (const name of ['kwok-1', 'kwok-2']) this.cluster.setNode(name)
  }

  /** The prepuller of one replica, not started. */
  prepuller(name = 'one', more: Partial<PrepullerOptions> = {}, prepull: object = {}): Prepuller {
    const { clock, cluster, store, log, metrics } = this
    const config = configSchema.parse({ installation: 'north', images: { prepull } })
    const made = new Prepuller({
      ...{ config, namespace: 'sky', view: cluster, kube: cluster, store, leases: store.replica(name) },
      ...{ catalogue: async () => this.catalogue, clock, log, metrics, failpoint: () => {} },
      ...more,
    })
    this.#made.push(made)
    return made
  }

  /** Advances the clock in steps short enough for each sleeper. */
  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 50) {
      await settled()
      this.clock.advance(Math.min(50, leftMs))
    }
    await settled()
  }

  /** Metrics of failed pulls: pulls that failed, pulls that the cluster refused, and images that fail now. */
  async counted(): Promise<{ failed: number; refused: number; failing: number }> {
    const [failures, failing] = await Promise.all([
      this.metrics.prepullFailures.get(),
      this.metrics.prepullsFailing.get(),
    ])
    const of = (result: string) => failures.values.find(({ labels }) => labels.result === result)?.value ?? 0
    return { failed: of('failed'), refused: of('refused'), failing: failing.values[0]!.value }
  }

  async close(): Promise<void> {
    await Promise.all(this.#made.map(each => each.stop()))
  }
}
