/** Joins the streams of events of apps: what tells them, and what reads them. */
import type { AppEvent } from '../../appcontrol/events.ts'
import type { AppSights } from '../../appcontrol/sights.ts'
import { AppTeller } from '../../appcontrol/teller.ts'
import { keyOf } from '../../kube/cache.ts'
import type { Fact } from '../../reconcile/types.ts'
import { AppEventStore, appSubject } from '../../store/app-events.ts'
import type { Bell } from '../../store/bell.ts'
import { type EventStream, StreamReader } from '../../store/streams.ts'
import type { AppReplica } from './replica.ts'

const gone: AppEvent = { event: 'gone', data: '{}' }

export function joinStreams(
  { basics: { clock, log }, access }: Pick<AppReplica, 'basics' | 'access'>,
  sights: AppSights,
) {
  const { connection, keys } = access
  const store = new AppEventStore(connection, keys, keys.apps.bell)
  const teller = new AppTeller({ sights, store, clock, log })
  const reader = new StreamReader(ringsOf(access, sights), clock)
  connection.onMove(() => teller.tellAll())
  return {
    start: () => teller.start(),
    stop: () => teller.stop(),
    open: async (app: Fact, lastEventId: string | undefined, signal: AbortSignal) => {
      const { ref, uid } = app
      const isThere = () => sights.apps.get(keyOf(ref.namespace, ref.name))?.uid === uid
      // Its stream may have expired, since nothing has happened for long.
      teller.tellAgain(app)
      const stream = store.stream(uid, isThere) as EventStream<AppEvent>
      return reader.open({ stream, lastEventId, lost: gone, signal })
    },
  }
}

/** The end of an app is seen by each replica itself, and ends its streams. */
const ringsOf = ({ bell }: AppReplica['access'], { apps }: AppSights): Pick<Bell, 'on'> => ({
  on: listener => {
    const offs = [
      bell.on(ring => {
        if (ring.what === 'missed') listener({ what: 'missed' })
        else if (ring.what === 'events' && ring.subject) listener({ what: 'events', subject: ring.subject })
      }),
      apps.on(({ type, uid }) => {
        if (type === 'gone') listener({ what: 'ended', subject: { kind: appSubject, name: uid } })
      }),
    ]
    return () => offs.every(off => off())
  },
})
