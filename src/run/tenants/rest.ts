/** Joins REST of tenants: identity of callers, sudo with an end, routes. Loaded only if the configuration wants it. */
import { type ApiServer, listenApi } from '../../api/connections/listen.ts'
import { createTenantsApi } from '../../api/tenants/app.ts'
import type { SudoAuditor } from '../../api/tenants/audit.ts'
import { inFull } from '../../base/reasons.ts'
import type { RestConfig } from '../../config/tenants.ts'
import { Bell } from '../../store/bell.ts'
import { type EventStream, StreamReader } from '../../store/streams.ts'
import { TenantStore, type Told, tenantSubject } from '../../store/tenants.ts'
import type { TenantEvent } from '../../sudo/events.ts'
import { TenantService } from '../../sudo/service.ts'
import { Sudo } from '../../sudo/sudo.ts'
import { Teller } from '../../sudo/teller.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import type { TenantWorld } from '../../tenants/world.ts'
import { createIdentity } from '../identity.ts'
import type { Part } from '../part.ts'
import { joinRequestAudit } from '../request-audit.ts'
import { tlsOf } from '../tls.ts'
import type { TenantReplica } from './replica.ts'

export interface Rest {
  /** Runs beside the replica, and closes before its connections do. */
  readonly part: Part
  listen(): Promise<ApiServer>
  /** Why callers cannot be identified; undefined if they can be. */
  readonly trouble: () => string | undefined
}

/** @param isSynced whether the watches show the cluster */
export function joinRest(replica: TenantReplica, rest: RestConfig, isSynced: () => boolean): Rest {
  const { basics, kube, world, poke } = replica
  const { settings, config, clock, log, metrics, tracing } = basics
  const identity = createIdentity(settings, {
    ...{ clock, log },
    onRequest: (result, seconds) => metrics.identityRequestDuration.observe({ result }, seconds),
  })
  const sudo = new Sudo({ world, kube, rest, clock, onWritten: poke })
  const { auditor, flush } = joinRequestAudit(basics)
  const events = joinEvents(replica, auditor)
  const tenants = new TenantService({ world, rest, sudo, clock, isSynced, openEvents: events.open })
  const tls = tlsOf(basics)
  const parts = { config, identity, metrics, tracing, clock, log, tenants, auditor }
  return {
    part: {
      start: events.start,
      stop: async () => {
        await events.stop()
        flush()
      },
      close: () => tls?.certificates.close(),
    },
    listen: () => {
      tls?.certificates.start()
      return listenApi({ config, clock, tls }, draining => createTenantsApi({ ...parts, draining }))
    },
    trouble: () => {
      const reason = identity.trouble?.()
      return reason && inFull(reason)
    },
  }
}

const gone: TenantEvent = { event: 'gone', data: '{}' }

/** The streams of events: what tells them, and what reads them. */
function joinEvents({ basics, world, access }: TenantReplica, auditor: SudoAuditor) {
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
    open: (name: string, lastEventId: string | undefined, signal: AbortSignal) => {
      const stream = store.stream(name, () => lnamespaces.get(name) !== undefined) as EventStream<TenantEvent>
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
