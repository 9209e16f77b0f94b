/** Joins the parts for one kind of subjects: labs as any other. */
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
import type { Basics } from './basics.ts'
import type { Stage } from './part.ts'
import type { KindAccess, Store } from './store.ts'

export interface KindOptions<K extends Shape> {
  readonly kind: Kind<K>
  readonly access: KindAccess<K>
  /**
   * Limits operations that act at once: a room of its own, or that of labs (`KindShared.labRoom`). Kinds that share a room wait
   * for each other: while operations of one wait for places, the others begin none, and an act that runs alone stops all.
   */
  readonly room: Slots
  /** Only for labs: a note of the audit log does not name its kind. Default: operations leave no lines. */
  readonly audit?: Auditor
}

/** The parts of a kind. */
export interface KindParts<K extends Shape = Shape> {
  readonly name: string
  /** Accepts its operations, and reads its subjects. */
  readonly operations: OperationStore<K['record']>
  /** The caller accepts in `during`, and wakes the engine then. */
  readonly acceptance: Acceptance
  readonly engine: Pick<Engine, 'start' | 'wake' | 'drain' | 'size'>
  readonly leases: Pick<Leases, 'close'>
  readonly room: Slots
  /** Its other stages. They start before the engines, and close after them. Default: none. */
  readonly stages?: readonly Stage[]
}

/** @throws if the kind is to leave notes for the audit log that it cannot leave */
export function joinKind<K extends Shape>(
  basics: Basics,
  { bell, sealer }: Pick<Store, 'bell' | 'sealer'>,
  { kind, access, room, audit = noAudit }: KindOptions<K>,
): KindParts<K> {
  if (kind.name !== labKind && audit !== noAudit) throw new Error(`operations on ${kind.name} leave no notes`)
  const { config, clock, log, metrics, tracing } = basics
  const { operations, owners, leases } = access
  const acceptance = new Acceptance(clock)
  const common = { owners, room, clock, log, metrics }
  const options: RunOptions<K> = { ...common, kind, streams: operations, sealer, tracing, audit }
  const engine = new Engine<K['record'], K['fields']>({
    ...common,
    kind: kind.name,
    createRun: (claim, lease, places) => new OperationRun(new Owned(options, claim, lease, places)),
    leases,
    bell,
    acceptance,
    ttlMs: config.engine.leaseTtlMs,
    scanIntervalMs: config.engine.scanIntervalMs,
    shares: kind.shares ?? false,
  })
  return { name: kind.name, operations, acceptance, engine, leases, room }
}
