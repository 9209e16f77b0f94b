/** Redis as a replica has it: the connection, what is asked of it by whom, the bell, and leases. */
import { catalogueScope } from '../images/catalogue/text.ts'
import { Leases } from '../leases/leases.ts'
import { Bell } from '../store/bell.ts'
import { CompareStore } from '../store/compares.ts'
import { Connection } from '../store/connection.ts'
import { ImageStore } from '../store/images.ts'
import { Keys } from '../store/keys.ts'
import { LabStore } from '../store/labs.ts'
import { NoteStore } from '../store/notes.ts'
import { OwnerStore } from '../store/owners.ts'
import { PrepullStore } from '../store/prepulls.ts'
import { Sealer } from '../store/sealing.ts'
import { TaskStore } from '../store/tasks.ts'
import type { Basics } from './basics.ts'
import { holdMs } from './times.ts'

/** How long streams of ended operations are kept beside a newer one. */
const keepEventsMs = 1_800_000
/** TTLs after which the sealing key of replicas that are no more binds nobody. */
const forgetKeyAfter = 3

export interface StoreHooks {
  /** An answer says that the data must first be compared. */
  readonly onComparing: () => void
  /** Why the cluster cannot be read for it, in words for clients; undefined where it can. */
  readonly whyComparing: () => string | undefined
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
    keepMs: forgetKeyAfter * engine.leaseTtlMs,
    // A replica may look as rarely as once in a TTL.
    idleMs: engine.leaseTtlMs + engine.scanIntervalMs,
  }
  const tombstoneMs = times.tombstoneSeconds * 1000
  const retention = { tombstoneMs, idempotencyMs: times.idempotencySeconds * 1000, eventsMs: keepEventsMs }
  const owners = new OwnerStore({
    connection,
    keys,
    clock,
    sealing,
    tombstoneMs,
    holdMs: holdMs(config),
    onComparing,
  })
  const leases = new Leases({
    redis: connection.commands,
    owners,
    tasks: new TaskStore(connection),
    keyOf: user => keys.lease(user),
    clock,
    ttlMs: engine.leaseTtlMs,
  })
  const ofImages = new ImageStore({
    connection,
    keys,
    scope: catalogueScope(images),
    intervalMs: images.refreshIntervalSeconds * 1000,
  })
  return {
    connection,
    keys,
    sealer,
    ofLabs: new LabStore({ connection, keys, retention, sealing, onComparing, whyComparing }),
    owners,
    leases,
    compares: new CompareStore(connection, keys),
    ofImages,
    prepulls: new PrepullStore(connection, keys),
    notes: new NoteStore(connection, keys),
    bell: new Bell(connection, keys.bell, clock, err => log.error({ err }, 'a listener of the bell failed')),
  }
}
