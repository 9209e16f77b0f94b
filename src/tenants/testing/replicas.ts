/** For tests: replicas that reconcile tenants and sudoers on an API server in memory. */
import { Registry } from 'prom-client'
import { keepingLog } from '../../../test/kit/log.ts'
import { Holding } from '../../reconcile/held.ts'
import { Reconciler } from '../../reconcile/reconciler.ts'
import { FakeLeases } from '../../reconcile/testing/samples.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import type { BillingWorld } from '../billing.ts'
import { tenantKind } from '../kind.ts'
import { sudoerKind } from '../sudoer-kind.ts'
import type { TenantWorld } from '../world.ts'
import { Cluster, settingsOf, user } from './world.ts'

/** A spec with a person for each list. */
export const people = { users: [user('ada')], managers: [user('max')], sudoers: [user('sue')] }

/** Everything passes in the time of one clock, which the test moves. */
export class Tenants extends Cluster {
  readonly leases = new FakeLeases()
  readonly log = keepingLog()
  /** Why nothing may be granted. */
  unguarded: string | undefined
  /** The installation that serves tenants; undefined for that of whoever asks. */
  serving: string | undefined
  /** Bills of replicas that are made from now on. */
  billing: BillingWorld | undefined
  readonly #reconcilers: Reconciler<TenantWorld>[] = []

  replica(settings = settingsOf()) {
    const { clock, api, leases, log } = this
    const isElsewhere = () => this.serving !== undefined && this.serving !== settings.installation
    const world = { ...this.world(settings, () => this.unguarded), isElsewhere, billing: this.billing }
    const common = {
      ...{ kube: api.client, leases, clock, log, leaseTtlMs: 10_000, room: 8, failpoint: async () => {} },
      ...{ leaseKey: (name: string) => name, lockKey: (name: string) => `lock-of:${name}` },
      ...{ holding: new Holding(clock), metrics: createMetrics(new Registry()) },
    }
    const tenants = new Reconciler({ kind: tenantKind(world), ...common })
    const sudoers = new Reconciler({ kind: sudoerKind(world), ...common })
    this.#reconcilers.push(tenants, sudoers)
    for (const reconciler of [tenants, sudoers]) reconciler.start()
    this.list()
    return { world, tenants, sudoers }
  }

  /** The admission policies are gone, or back. */
  guard(unguarded: string | undefined): void {
    this.unguarded = unguarded
    this.#pokeAll()
  }

  /** Another installation serves tenants from now on. */
  giveTo(installation: string): void {
    this.serving = installation
    this.#pokeAll()
  }

  #pokeAll(): void {
    for (const reconciler of this.#reconcilers) reconciler.pokeAll(true)
  }

  /** Lets time pass in small steps, with all that happens meanwhile. */
  async pass(ms = 500): Promise<void> {
    for (let left = ms; left > 0; left -= 10) {
      this.clock.advance(Math.min(10, left))
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  /** Forgets the writes so far. */
  written(): string[] {
    return this.api.writes.splice(0)
  }

  /** Conditions as `Type=Status/Reason`, without those that are as they should be. */
  trouble(name: string): string[] {
    const { conditions = [] } = (this.get('LNamespace', name)?.status ?? {}) as {
      conditions?: { type: string; status: string; reason: string }[]
    }
    return conditions.filter(({ status }) => status !== 'True').map(({ type, reason }) => `${type}: ${reason}`)
  }

  /** Makes an LNamespace, and waits until it is ready. @returns its UID */
  async made(name = 'a', spec: object = people): Promise<string> {
    const { metadata } = this.declare(name, { spec })
    await this.pass()
    if (!this.isReady(name)) throw new Error(`${name}: ${this.trouble(name).join(', ')}`)
    this.written()
    return metadata.uid!
  }

  isReady(name: string): boolean {
    const { conditions = [] } = (this.get('LNamespace', name)?.status ?? {}) as {
      conditions?: { type: string; status: string }[]
    }
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reconcilers.map(reconciler => reconciler.stop()))
  }
}
