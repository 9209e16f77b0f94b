/** Joins a replica's access to Redis: the connection, the stores, the bell, and leases. */
import { labKind } from '../base/subject.ts'
import { catalogueScope } from '../images/catalogue/text.ts'
import { Leases } from '../leases/leases.ts'
import type { Kind } from '../ops/kind.ts'
import type { LabShape } from '../ops/lab-context.ts'
import type { Shape } from '../ops/steps.ts'
import { Bell } from '../store/bell.ts'
import { CompareStore } from '../store/compares.ts'
import type { Connection } from '../store/connection.ts'
import { ImageStore } from '../store/images.ts'
import { Keys } from '../store/keys.ts'
import { LabStore } from '../store/labs.ts'
import { NoteStore } from '../store/notes.ts'
import { OperationStore } from '../store/operations.ts'
import { OwnerStore } from '../store/owners.ts'
import { PrepullStore } from '../store/prepulls.ts'
import { labForm } from '../store/records.ts'
import { Sealer } from '../store/sealing.ts'
import { StreamReader } from '../store/streams.ts'
import { TaskStore } from '../store/tasks.ts'
import type { Basics } from './basics.ts'
import { connect } from './connect.ts'
import { longestRequestMs } from './times.ts'

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
export interface KindAccess<K extends Shape> {
  readonly operations: OperationStore<K['record']>
  readonly owners: OwnerStore<K['record'], K['fields']>
  readonly leases: Leases
}

/** A kind, as the store sees it. */
type StoredKind<K extends Shape> = Pick<Kind<K>, 'name' | 'form' | 'drawsEpochs'> & {
  readonly limits: Pick<Kind<K>['limits'], 'longestRequestMs'>
}

export type Store = ReturnType<typeof joinStore>

export function joinStore(basics: Basics, hooks: StoreHooks) {
  const { settings, config, clock, log } = basics
  const { images } = config
  const connection = connect(basics)
  const keys = new Keys(config.redis.keyPrefix)
  const sealer = new Sealer(settings.sealingKeys)
  const common = commonOf(basics, hooks, { connection, keys, sealer })
  const limits = { longestRequestMs: longestRequestMs(config) }
  const labs = {
    operations: new LabStore(common),
    ...ownersOf<LabShape>(basics, common, { name: labKind, form: labForm, drawsEpochs: false, limits }),
  }
  const bell = new Bell(connection, keys.bell, clock, err => log.error({ err }, 'a listener of the bell failed'))
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
    labs,
    /** The leases of tasks are those of labs. */
    leases: labs.leases,
    /** The access of a kind beside labs. */
    accessOf: <K extends Shape>(kind: Kind<K>): KindAccess<K> => ({
      operations: new OperationStore<K['record']>({ ...common, family: keys.family(kind.name), form: kind.form }),
      ...ownersOf<K>(basics, common, kind),
    }),
    compares: new CompareStore(connection, keys),
    imageStore,
    prepulls: new PrepullStore(connection, keys),
    notes: new NoteStore(connection, keys),
    bell,
    /** Reads streams of every kind: it bounds readings at once, since all use one connection. */
    streams: new StreamReader(bell, clock),
  }
}

export type Common = ReturnType<typeof commonOf>

/** The options that the stores of all kinds have. */
export function commonOf(
  { config: { engine, times } }: Basics,
  hooks: StoreHooks,
  { connection, keys, sealer }: { readonly connection: Connection; readonly keys: Keys; readonly sealer: Sealer },
) {
  const { leaseTtlMs, scanIntervalMs } = engine
  const sealing = {
    ids: sealer.ids,
    keepMs: sealingKeyTtls * leaseTtlMs,
    // A replica may look only once in a TTL.
    idleMs: leaseTtlMs + scanIntervalMs,
  }
  const retention = {
    tombstoneMs: times.tombstoneSeconds * 1000,
    idempotencyMs: times.idempotencySeconds * 1000,
    eventsMs: keepEventsMs,
  }
  return { connection, keys, sealing, retention, ...hooks }
}

/** The owners and the leases of one kind. */
export function ownersOf<K extends Shape>({ config, clock }: Basics, common: Common, kind: StoredKind<K>) {
  const { connection, keys, sealing, onComparing } = common
  const { name, form, drawsEpochs, limits } = kind
  const { leaseTtlMs: ttlMs } = config.engine
  const { tombstoneMs } = common.retention
  const family = keys.family(name)
  const owners = new OwnerStore<K['record'], K['fields']>({
    ...{ connection, keys, family, form, drawsEpochs, clock, sealing, tombstoneMs, onComparing },
    holdMs: ttlMs + limits.longestRequestMs,
  })
  const tasks = new TaskStore(connection)
  const leases = new Leases({
    redis: connection.commands,
    owners,
    tasks,
    keyOf: each => family.lease(each),
    clock,
    ttlMs,
  })
  return { owners, leases }
}
