/** Joins REST of apps: identity of callers, what they may do with apps, routes, events. Loaded only if the configuration wants it. */
import { createAppsApi } from '../../api/apps/app.ts'
import { AppCreator } from '../../appcontrol/creator.ts'
import { AppLogs } from '../../appcontrol/logs.ts'
import { AppSecrets } from '../../appcontrol/secrets.ts'
import { AppService } from '../../appcontrol/service.ts'
import type { AppSights } from '../../appcontrol/sights.ts'
import { AppWriter } from '../../appcontrol/writer.ts'
import { namespaceOf } from '../../apps/groups.ts'
import type { AppPod } from '../../apps/pods.ts'
import { groupNameOf } from '../../apps/spec.ts'
import type { PodFact } from '../../apps/watches.ts'
import { groupsAround } from '../../apps/world.ts'
import type { ActivityService } from '../../idle/rest/service.ts'
import { keyOf } from '../../kube/cache.ts'
import { RevocationStore } from '../../store/apps/revocations.ts'
import { createAppApiMetrics } from '../../telemetry/app-api-metrics.ts'
import { joinOwnRest, type OwnRest } from '../own-rest.ts'
import type { Part } from '../part.ts'
import { membership } from './membership.ts'
import { joinPodEvents } from './pod-events.ts'
import type { AppReplica } from './replica.ts'
import { joinStreams } from './streams.ts'
import { joinTemplates } from './templates.ts'

export interface Rest extends Pick<OwnRest, 'listen' | 'trouble'> {
  /** Runs beside the replica, and closes before its connections do. */
  readonly part: Part
  readonly templates: Pick<ReturnType<typeof joinTemplates>, 'waitingFor' | 'trouble' | 'whenShown'>
}

/**
 * @param isSynced whether the watches show the cluster
 * @param activity what is known of the use of apps, where idle apps are looked at
 */
export function joinRest(replica: AppReplica, isSynced: () => boolean, activity?: Pick<ActivityService, 'find'>): Rest {
  const { basics, kube, access, world, tenants, poke } = replica
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
  const isMember = membership({
    ...{ groups: config.apps.groups, names: config.tenants.rest ?? {}, tenant: name => tenants.get(name) },
  })
  const streams = joinStreams(replica, sights)
  const onWritten = ({ ref }: { readonly ref: { readonly namespace?: string; readonly name: string } }) =>
    poke(keyOf(ref.namespace, ref.name))
  const templates = joinTemplates(replica)
  const common = {
    ...{ sights, isMember, instanceTypes: config.apps.instanceTypes, secretPatterns: config.lab.secretPatterns },
    writer: new AppWriter({ apps: sights.apps, kube, onWritten }),
    secrets: new AppSecrets(kube),
  }
  const apps = new AppService({
    ...{ ...common, isSynced, openEvents: streams.open },
    creator: new AppCreator({
      ...{ ...common, templates: templates.service },
      namespaceOf: group => namespaceOf(group, world.settings, world.isTenant),
    }),
  })
  const podsNamed = world.sights.pods.index(({ ref }) => [ref.name])
  const logs = new AppLogs({
    ...{ kube, isMember, isSynced, maxSeconds: config.api.limits.maxLogSeconds },
    sights: {
      ...{ apps: sights.apps, groupOf: sights.groupOf, named: sights.named, deployments: world.sights.deployments },
      podsNamed: name => podsNamed(name).map(fact => ({ fact, containers: containersIn((fact as PodFact).pod) })),
    },
  })
  const appMetrics = createAppApiMetrics(basics.metrics.registry)
  const revocations = new RevocationStore(access.connection, access.keys)
  const { listen, trouble, stop, close } = joinOwnRest(basics, parts =>
    createAppsApi({
      ...{ ...parts, config, apps, logs, appMetrics },
      templates: templates.service,
      activity,
      revoke: revocation => revocations.revoke(revocation),
    }),
  )
  return {
    part: {
      start: () => {
        podEvents.start()
        templates.start()
        streams.start()
      },
      stop: async () => {
        await streams.stop()
        stop()
      },
      close: async () => {
        close()
        await podEvents.stop()
        await templates.stop()
      },
    },
    ...{ listen, trouble, templates },
  }
}

/** The first is that of the app. */
const containersIn = ({ containers, initContainers }: AppPod): readonly string[] =>
  [...containers, ...initContainers].map(({ name }) => name)
