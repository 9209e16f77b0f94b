/** Joins a replica's access to Redis: the connection, the stores, the bell, and leases. */
import { catalogueScope } from '../images/catalogue/text.ts'
import { Leases } from '../leases/leases.ts'
import { Bell } from '../store/bell.ts'
import { CompareStore } from '../store/compares.ts'
import { Connection } from '../store/connection.ts'
import { ImageStore } from '../store/images.ts'
import { type Family, Keys } from '../store/keys.ts'
import { LabStore } from '../store/labs.ts'
import { NoteStore } from '../store/notes.ts'
import { OperationStore } from '../store/operations.ts'
import { OwnerStore } from '../store/owners.ts'
import { PrepullStore } from '../store/prepulls.ts'
import { labForm, type OperationFields, type OperationRecord, type RecordForm } from '../store/records.ts'
import { Sealer } from '../store/sealing.ts'
import { TaskStore } from '../store/tasks.ts'
import type { Basics } from './basics.ts'
import { holdMs } from './times.ts'

/** How long streams of ended operations are kept beside a newer one. */
const keepEventsMs = 1_800_000
/** Lease TTLs after which the sealing key of vanished replicas no longer blocks others. */
const sealingKeyTtls = 3

export interface StoreHooks {
  /** Called when Redis answers that its data must be compared first. */
  readonly onComparing: () => void
  /** Why the cluster cannot be read for the compare, in words for clients; undefined if it can be. */
  readonly whyComparing: () => string | undefined
}

/** A replica's access to the operations of one kind. */
export interface OfKind<R extends OperationRecord, F extends OperationFields> {
  readonly operations: OperationStore
  readonly owners: OwnerStore<R, F>
  readonly leases: Leases
}

export type Store = ReturnType<typeof joinStore>

export function joinStore(
  { settings, config, clock, log, metrics }: Basics,
  { onComparing, whyComparing }: StoreHooks,
) {
  const { engine, times, images } = config
  const connection = new Connection({
    config: config.redis,
    login: settings.redisLogin,
    clock,
    log,
    onCall: (command, seconds, answered) =>
      metrics.redisCallDuration.observe({ command, result: answered ? 'ok' : 'error' }, seconds),
  })
  const keys = new Keys(config.redis.keyPrefix)
  const sealer = new Sealer(settings.sealingKeys)
  const sealing = {
    ids: sealer.ids,
    keepMs: sealingKeyTtls * engine.leaseTtlMs,
    // A replica may look only once in a TTL.
    idleMs: engine.leaseTtlMs + engine.scanIntervalMs,
  }
  const tombstoneMs = times.tombstoneSeconds * 1000
  const retention = { tombstoneMs, idempotencyMs: times.idempotencySeconds * 1000, eventsMs: keepEventsMs }
  const common = { connection, keys, sealing, onComparing }
  const tasks = new TaskStore(connection)
  const ttlMs = engine.leaseTtlMs
  const ownersOf = <R extends OperationRecord, F extends OperationFields>(
    family: Family,
    form: RecordForm<R, F>,
    drawsEpochs = false,
  ) => {
    const owners = new OwnerStore({ ...common, family, form, drawsEpochs, clock, tombstoneMs, holdMs: holdMs(config) })
    const keyOf = family.lease.bind(family)
    return { owners, leases: new Leases({ redis: connection.commands, owners, tasks, keyOf, clock, ttlMs }) }
  }
  /** The access of a kind beside labs. */
  const ofKind = <R extends OperationRecord, F extends OperationFields>(
    kind: string,
    form: RecordForm<R, F>,
    { drawsEpochs }: { readonly drawsEpochs: boolean },
  ): OfKind<R, F> => {
    const family = keys.family(kind)
    const operations = new OperationStore({ ...common, family, form, retention, whyComparing })
    return { operations, ...ownersOf(family, form, drawsEpochs) }
  }
  const { owners, leases } = ownersOf(keys, labForm)
  const imageStore = new ImageStore({
    connection,
    keys,
    scope: catalogueScope(images),
    intervalMs: images.refreshIntervalSeconds * 1000,
  })
  return {
    connection,
    keys,
    sealer,
    labStore: new LabStore({ ...common, retention, whyComparing }),
    owners,
    leases,
    ofKind,
    compares: new CompareStore(connection, keys),
    imageStore,
    prepulls: new PrepullStore(connection, keys),
    notes: new NoteStore(connection, keys),
    bell: new Bell(connection, keys.bell, clock, err => log.error({ err }, 'a listener of the bell failed')),
  }
}
