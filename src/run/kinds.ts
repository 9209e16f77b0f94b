/** Joins the parts for a kind of subjects, and lists the kinds of a replica beside labs. */
import type { Slots } from '../base/slots.ts'
import { labKind } from '../base/subject.ts'
import type { Leases } from '../leases/leases.ts'
import { Acceptance } from '../ops/acceptance.ts'
import { type Auditor, noAudit } from '../ops/audit.ts'
import { Engine } from '../ops/engine.ts'
import type { Kind } from '../ops/kind.ts'
import { Owned, type RunOptions } from '../ops/owned.ts'
import { OperationRun } from '../ops/run.ts'
import type { Shape } from '../ops/steps.ts'
import type { OperationStore } from '../store/operations.ts'
import type { RecordForm } from '../store/records.ts'
import type { Census, EngineUse } from '../telemetry/gauges.ts'
import type { Basics } from './basics.ts'
import type { Part } from './part.ts'
import type { OfKind, Store } from './store.ts'
import { longestRequestMs } from './times.ts'

/** What a kind decides for itself. */
export interface KindOptions<K extends Shape> {
  readonly kind: Kind<K>
  readonly times: RunOptions<K>['times']
  /** Whose room it uses: its own, or that of another kind. */
  readonly room: Slots
}

export interface EngineShared {
  readonly acceptance: Acceptance
  readonly audit: Auditor
}

/** The engine of a kind, which runs all of its operations in the same way. */
export function joinEngine<K extends Shape>(
  { config, clock, log, metrics, tracing }: Basics,
  { owners, operations, leases, bell, sealer }: OfKind<K['record'], K['fields']> & Pick<Store, 'bell' | 'sealer'>,
  { kind, times, room }: KindOptions<K>,
  { acceptance, audit }: EngineShared,
): Engine<K['record'], K['fields']> {
  const { engine } = config
  const common = { owners, room, clock, log, metrics }
  const options: RunOptions<K> = {
    ...common,
    kind,
    times,
    streams: operations,
    sealer,
    maxAttempts: engine.maxAttempts,
    longestRequestMs: longestRequestMs(config),
    tracing,
    audit,
  }
  return new Engine<K['record'], K['fields']>({
    ...common,
    kind: kind.name,
    createRun: (claim, lease, places) => new OperationRun(new Owned(options, claim, lease, places)),
    leases,
    bell,
    acceptance,
    ttlMs: engine.leaseTtlMs,
    scanIntervalMs: engine.scanIntervalMs,
  })
}

/** For metrics. */
export const useOf = ({ size }: { readonly size: number }, { places, free }: Slots): EngineUse => ({
  owned: size,
  places,
  free,
})

/** The parts of a kind beside labs. */
export interface KindParts {
  readonly name: string
  readonly engine: Part
  readonly use: () => EngineUse
  readonly census: OperationStore['census']
  readonly leases: Pick<Leases, 'close'>
}

/** Makes the parts of a kind beside labs. Its operations leave no lines in the audit log. */
export function joinKind<K extends Shape>(
  basics: Basics,
  store: Store,
  options: KindOptions<K> & {
    readonly form: RecordForm<K['record'], K['fields']>
    /** Whether each claim draws a number of its own. */
    readonly drawsEpochs: boolean
  },
): KindParts {
  const { form, drawsEpochs } = options
  const ofKind = store.ofKind(options.kind.name, form, { drawsEpochs })
  const shared = { acceptance: new Acceptance(basics.clock), audit: noAudit }
  const engine = joinEngine(basics, { ...ofKind, bell: store.bell, sealer: store.sealer }, options, shared)
  return {
    name: options.kind.name,
    engine: { start: () => engine.start(), stop: () => engine.drain() },
    use: () => useOf(engine, options.room),
    census: () => ofKind.operations.census(),
    leases: ofKind.leases,
  }
}

/** A kind beside labs. */
export interface KindMaker {
  readonly name: string
  make(basics: Basics, store: Store): KindParts
}

const makers: KindMaker[] = []

/** Adds a kind to the replicas that this process makes later. Only a module of the tests calls this. */
export function addKind(maker: KindMaker): void {
  makers.push(maker)
}

/** All kinds of subjects. */
export const kindNames = (): readonly string[] => [labKind, ...makers.map(({ name }) => name)]

export const joinKinds = (basics: Basics, store: Store): readonly KindParts[] =>
  makers.map(maker => maker.make(basics, store))

/** @returns undefined while the data are not compared */
export async function censusOf(kinds: readonly Pick<KindParts, 'name' | 'census'>[]): Promise<Census | undefined> {
  const counted = await Promise.all(kinds.map(async ({ name, census }) => [name, await census()] as const))
  const known = counted.flatMap(([name, census]) => (census ? [[name, census] as const] : []))
  return known.length === counted.length ? Object.fromEntries(known) : undefined
}
