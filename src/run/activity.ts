/** Joins REST of activity: what it shows of workloads, and the feed of events. Loaded only where something is stopped for being idle. */
import { activityFeature } from '../api/activity/app.ts'
import type { Feature } from '../api/feature.ts'
import { ruleOf } from '../idle/decisions/rules.ts'
import { Activities } from '../idle/rest/activities.ts'
import { ActivityFeed } from '../idle/rest/feed.ts'
import type { ActivityKind, ActivityService } from '../idle/rest/service.ts'
import type { WorkloadOwner } from '../idle/workloads/workload.ts'
import type { ActivityStore } from '../store/activity.ts'
import { checkActivityToken } from '../store/activity-token.ts'
import type { DueStore } from '../store/due.ts'
import { TouchStore } from '../store/touches.ts'
import type { Audit } from './audit.ts'
import type { Basics } from './basics.ts'
import type { Part } from './part.ts'
import type { Store } from './store.ts'

/** A kind of workloads, and whose they are. */
export type ServedKind = Pick<ActivityKind, 'ownerOf' | 'isEnding'> & { readonly owner: WorkloadOwner }

export interface ActivityShared {
  readonly kinds: readonly ServedKind[]
  readonly activity: ActivityStore
  readonly due: DueStore
  readonly audit: Audit['auditor']
  readonly onKept: NonNullable<ActivityKind['onKept']>
}

/** @returns the routes, and the feed that needs the bell alone */
export function joinActivity(
  basics: Basics,
  store: Pick<Store, 'connection' | 'keys' | 'bell' | 'sealer'>,
  shared: ActivityShared,
): { readonly feature: Feature; readonly feed: Part } {
  const { service, feed } = joinActivityService(basics, store, shared)
  const { activity, audit } = shared
  const verifyLab = async (username: string, token: string) => {
    const op = checkActivityToken(store.sealer, username, token)
    // A stranger's token costs no reading.
    return op !== undefined && (await activity.readLab(username, '')).lab?.op === op
  }
  return { feature: activityFeature({ activity: service, verifyLab, auditor: audit }), feed }
}

/** What the routes use, for any kinds. */
export function joinActivityService(
  { config, clock, log }: Pick<Basics, 'config' | 'clock' | 'log'>,
  { connection, keys, bell }: Pick<Store, 'connection' | 'keys' | 'bell'>,
  { kinds, activity, due, onKept }: Omit<ActivityShared, 'audit'>,
): { readonly service: ActivityService; readonly feed: Part } {
  const { idle } = config
  const served = kinds.map(
    ({ owner, ownerOf, isEnding }): ActivityKind => ({
      ...{ kind: owner.kind, facts: id => owner.facts(id), isEnding, ownerOf, onKept },
      ruleOf: async facts => {
        const known = await owner.read(facts)
        return known ? ruleOf(idle.rules, owner.kind, known.traits) : 'busy'
      },
    }),
  )
  const owners = new Map(kinds.map(({ owner, ownerOf }) => [owner.kind, ownerOf]))
  const feed = new ActivityFeed({
    ...{ store: activity, bell, clock, log },
    ownerOf: ({ kind, id }) => owners.get(kind)?.(id),
  })
  const service = new Activities({
    ...{ idle, kinds: served, store: activity, touches: new TouchStore(connection, keys), due, clock },
    openEvents: (whose, lastEventId) => feed.open(whose, lastEventId),
  })
  return { service, feed }
}
