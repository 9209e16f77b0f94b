/** Joins REST of tenants: identity of callers, sudo with an end, routes. Loaded only if the configuration wants it. */
import { createTenantsApi } from '../../api/tenants/app.ts'
import type { SudoAuditor } from '../../api/tenants/audit.ts'
import { unavailable } from '../../base/errors.ts'
import type { RestConfig } from '../../config/tenants.ts'
import { Bell } from '../../store/bell.ts'
import { type EventStream, StreamReader } from '../../store/streams.ts'
import { TenantStore, type Told, tenantSubject } from '../../store/tenants.ts'
import type { TenantEvent } from '../../sudo/events.ts'
import { TenantService } from '../../sudo/service.ts'
import { Sudo } from '../../sudo/sudo.ts'
import { Teller } from '../../sudo/teller.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import { tenantParent } from '../../tenants/words.ts'
import type { TenantWorld } from '../../tenants/world.ts'
import type { Basics } from '../basics.ts'
import { joinOwnRest, type OwnRest } from '../own-rest.ts'
import type { Part } from '../part.ts'
import type { TenantReplica } from './replica.ts'

export interface Rest extends Pick<OwnRest, 'listen' | 'trouble'> {
  /** Runs beside the replica, and closes before its connections do. */
  readonly part: Part
}

/** @param isSynced whether the watches show the cluster */
export function joinRest(replica: TenantReplica, rest: RestConfig, isSynced: () => boolean): Rest {
  const { basics, kube, world, poke } = replica
  const { clock } = basics
  const sudo = new Sudo({ world, kube, rest, clock, onWritten: poke })
  const { auditor, listen, trouble, stop, close } = joinOwnRest(basics, parts =>
    createTenantsApi({ ...parts, tenants }),
  )
  const events = joinEvents(replica, auditor)
  const tenants = new TenantService({ world, rest, sudo, clock, isSynced, openEvents: events.open })
  return {
    part: {
      start: events.start,
      stop: async () => {
        await events.stop()
        stop()
      },
      close,
    },
    ...{ listen, trouble },
  }
}

const gone: TenantEvent = { event: 'gone', data: '{}' }

interface EventParts extends Pick<TenantReplica, 'access' | 'world'> {
  readonly kube: Pick<TenantReplica['kube'], 'get'>
  readonly basics: Pick<Basics, 'clock' | 'log'>
}

/** The streams of events: what tells them, and what reads them. */
export function joinEvents({ basics, world, access, kube }: EventParts, auditor: Pick<SudoAuditor, 'request'>) {
  const { clock, log } = basics
  const { connection, keys } = access
  const store = new TenantStore(connection, keys)
  const bell = new Bell(connection, keys.bell, clock, err => log.error({ err }, 'a listener of the bell failed'))
  const { lnamespaces } = world.sights
  const reader = new StreamReader(withEnds(bell, world), clock)
  const onTold = (name: string, events: readonly Told[]) => {
    for (const { event, data } of events) if (event === 'ended') auditor.request(endLine(name, data))
  }
  const teller = new Teller({ world, store, clock, log, onTold })
  connection.onMove(() => teller.tellAll())
  return {
    start: () => {
      void bell.listen()
      teller.start()
    },
    stop: () => {
      bell.close()
      return teller.stop()
    },
    open: async (name: string, lastEventId: string | undefined, signal: AbortSignal) => {
      // The caller's role was checked in this turn of the event loop, so for this UID. Another may take over the name later.
      const uid = lnamespaces.get(name)?.uid
      // Another replica may have shown it to the client while this one's watch lags: 204 would end the stream for good.
      const mayBeNew = uid === undefined && lastEventId !== undefined
      if (mayBeNew && (await kube.get({ ...tenantParent, name }, { signal })))
        throw unavailable('the watches do not show this LNamespace yet')
      const isThere = () => uid !== undefined && lnamespaces.get(name)?.uid === uid
      const stream = store.stream(name, uid, isThere) as EventStream<TenantEvent>
      return reader.open({ stream, lastEventId, lost: gone, signal })
    },
  }
}

/** The end of an LNamespace is seen by each replica itself, and ends its streams. */
const withEnds = (bell: Bell, { sights }: TenantWorld): Pick<Bell, 'on'> => ({
  on: listener => {
    const offs = [
      bell.on(listener),
      sights.lnamespaces.on(({ type, name }) => {
        if (type === 'gone') listener({ what: 'ended', subject: { kind: tenantSubject, name } })
      }),
    ]
    return () => offs.every(off => off())
  },
})

/** Written by the replica that was the first to tell it. */
function endLine(name: string, data: string): AuditEvent {
  const { id, user, why } = JSON.parse(data) as Readonly<Record<'id' | 'user' | 'why', string>>
  return {
    ...{ id: `${id}-ended`, action: 'sudo.end', result: 'succeeded', reason: why, actor: { kind: 'controller' } },
    object: { kind: 'tenant', name, user, grant: id },
  }
}
