/** Joins REST of apps: identity of callers, what they may do with apps, routes, events. Loaded only if the configuration wants it. */
import { createAppsApi } from '../../api/apps/app.ts'
import { AppSecrets } from '../../appcontrol/secrets.ts'
import { AppService } from '../../appcontrol/service.ts'
import type { AppSights, IsMember } from '../../appcontrol/sights.ts'
import { AppWriter } from '../../appcontrol/writer.ts'
import { hasNamespace, mayBeGroup, membersOf } from '../../apps/members.ts'
import { groupNameOf } from '../../apps/spec.ts'
import { groupsAround } from '../../apps/world.ts'
import { keyOf } from '../../kube/cache.ts'
import { RevocationStore } from '../../store/apps/revocations.ts'
import { somebodyOf } from '../../sudo/people.ts'
import { joinOwnRest, type OwnRest } from '../own-rest.ts'
import type { Part } from '../part.ts'
import { joinPodEvents } from './pod-events.ts'
import type { AppReplica } from './replica.ts'
import { joinStreams } from './streams.ts'

export interface Rest extends Pick<OwnRest, 'listen' | 'trouble'> {
  /** Runs beside the replica, and closes before its connections do. */
  readonly part: Part
}

/** @param isSynced whether the watches show the cluster */
export function joinRest(replica: AppReplica, isSynced: () => boolean): Rest {
  const { basics, kube, access, world, poke } = replica
  const { config } = basics
  const podEvents = joinPodEvents(replica)
  const sights: AppSights = {
    apps: world.sights.applications,
    named: world.named,
    groupOf: app => groupsAround(app, world).find(({ name }) => name === groupNameOf(app))?.name,
    podsOf: world.podsOf,
    podEventsOf: podEvents.of,
    onPodEvents: podEvents.on,
  }
  const streams = joinStreams(replica, sights)
  const onWritten = ({ ref }: { readonly ref: { readonly namespace?: string; readonly name: string } }) =>
    poke(keyOf(ref.namespace, ref.name))
  const apps = new AppService({
    ...{ sights, isSynced, openEvents: streams.open, isMember: membershipOf(replica) },
    writer: new AppWriter({ apps: sights.apps, kube, onWritten }),
    secrets: new AppSecrets(kube),
    instanceTypes: config.apps.instanceTypes,
    secretPatterns: config.lab.secretPatterns,
  })
  const revocations = new RevocationStore(access.connection, access.keys)
  const { listen, trouble, stop, close } = joinOwnRest(basics, parts =>
    createAppsApi({ ...parts, apps, revoke: revocation => revocations.revoke(revocation) }),
  )
  return {
    part: {
      start: () => {
        podEvents.start()
        streams.start()
      },
      stop: async () => {
        await streams.stop()
        stop()
      },
      close: async () => {
        close()
        await podEvents.stop()
      },
    },
    ...{ listen, trouble },
  }
}

/** As gateways decide: an LNamespace says who is in its group, any other group has those whose identity has it. */
function membershipOf({ basics: { config }, tenants }: AppReplica): IsMember {
  return (caller, group) => {
    const fact = mayBeGroup(group, config.apps.groups) ? tenants.get(group) : undefined
    if (!fact || !hasNamespace(fact)) return caller.groups.some(({ name }) => name === group)
    const somebody = somebodyOf(caller, config.tenants.rest ?? {})
    const { users, groups } = membersOf(fact)
    return (
      somebody !== undefined &&
      (users.includes(somebody.username) || somebody.groups.some(each => groups.includes(each)))
    )
  }
}
