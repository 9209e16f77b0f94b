/** The mirror of a replica, on a real Redis and the stand-in for Arvados. */

import { ArvadosClient, type ArvadosOutcome } from '../../../src/arvados/client.ts'
import type { Translated } from '../../../src/arvados/intake.ts'
import { Mirror, type MirrorOptions } from '../../../src/arvados/mirror.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { Leases } from '../../../src/leases/leases.ts'
import { Bell } from '../../../src/store/bell.ts'
import { MirrorStore } from '../../../src/store/dispatch/mirror.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { activeBytes, clusterId, container, type Dispatch, view } from '../dispatch/store.ts'
import { sealing, ttlMs } from '../store/store.ts'
import type { ArvadosServer } from './server.ts'

export const owner = 'arvados:stand-in'

/** A container that can be written. */
export const translated = (more: object = {}): Exclude<Translated, { why: string }> => ({
  ...container({ view: view(owner, 1) }),
  ...more,
})

export const mirrorStoreOf = ({ connection, store: { keys } }: Dispatch, most = activeBytes): MirrorStore =>
  new MirrorStore({ connection, keys, sealing, clusterId, activeBytes: most })

export function mirrorOf(dispatch: Dispatch, arvados: ArvadosServer, more: Partial<MirrorOptions> = {}) {
  const { store, connection, owners, containers } = dispatch
  const { keys, tasks } = store
  const calls: `${string} ${ArvadosOutcome}`[] = []
  const client = new ArvadosClient({
    ...{ url: new URL(arvados.url), token: arvados.token, clock: systemClock, timeoutMs: 2_000 },
    onCall: (call, outcome) => void calls.push(`${call} ${outcome}`),
  })
  const leases = new Leases({
    ...{ redis: connection.commands, owners, tasks, clock: systemClock, ttlMs },
    keyOf: name => keys.dispatch.machines.lease(name),
  })
  const bell = new Bell(connection, keys.bell, systemClock)
  const mirror = new Mirror({
    ...{ store: mirrorStoreOf(dispatch), containers, client, leases, lease: keys.dispatch.mirrorLease },
    ...{ clock: systemClock, log: silentLogger(), pollMs: 200, scanMs: 100, mostListed: 1_000, mostWaiting: 100 },
    ...{ owner, unsupported: 'cancel', staleLockMs: 0 },
    translate: ({ priority }) => translated({ priority: priority ?? 0 }),
    failpoint: () => {},
    onMirrored: () => {},
    onChanged: () => {},
    onBad: () => {},
    onRound: () => {},
    ...more,
  })
  bell.on(ring => mirror.hear(ring))
  const listening = bell.listen()
  mirror.start()
  const stop = async () => {
    await mirror.stop()
    bell.close()
    await leases.close()
    await client.close()
    void listening
  }
  return { mirror, calls, stop }
}
