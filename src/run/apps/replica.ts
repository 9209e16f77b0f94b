/** Makes the parts of a process that serves apps, and joins them. Nothing runs yet, and nothing of labs is loaded. */
import { appKind } from '../../apps/kind.ts'
import { hasNamespace, mayBeGroup, memberKind, membersOf, tenantWatch } from '../../apps/members.ts'
import { type QuotaWorld, quotaKind } from '../../apps/quotas.ts'
import { appWatches, groupSelector, type WatchedKind } from '../../apps/watches.ts'
import { type AppWorld, appWorld } from '../../apps/world.ts'
import { Starts } from '../../appwork/starts.ts'
import { StopStamps } from '../../appwork/stop-stamps.ts'
import { TenantFollower } from '../../appwork/tenants.ts'
import type { KubeObject } from '../../base/domain.ts'
import { failpoint } from '../../base/failpoint.ts'
import { keyOf } from '../../kube/cache.ts'
import { AdmissionWatch } from '../../kube/policies/watch.ts'
import { Holding } from '../../reconcile/held.ts'
import { Reconciler } from '../../reconcile/reconciler.ts'
import type { Sight } from '../../reconcile/sight.ts'
import type { Kind } from '../../reconcile/types.ts'
import type { Settings } from '../../settings/load.ts'
import { type Basics, type CreateTracing, makeBasics } from '../basics.ts'
import { joinKube } from '../kube.ts'
import type { Part, Stage } from '../part.ts'
import { auditOf } from './audit.ts'
import { addGauges } from './gauges.ts'
import { type AppAccess, joinAccess } from './leases.ts'
import { askForAppPolicy, policyWords } from './policies.ts'
import { joinTables } from './tables.ts'
import { joinSight, joinWatches } from './watches.ts'

export interface AppReplica {
  readonly basics: Basics
  readonly kube: ReturnType<typeof joinKube>['kube']
  readonly access: AppAccess
  readonly watches: ReturnType<typeof joinWatches>
  readonly policies: AdmissionWatch
  readonly tenants: TenantFollower
  readonly world: AppWorld
  readonly audit: ReturnType<typeof auditOf>
  /** A look at an app, by `namespace/name`, before all that is not urgent. */
  readonly poke: (key: string) => void
  /** All running parts. */
  readonly stages: readonly Stage[]
}

const whole = (object: KubeObject) => object

/** @param createTracing only if traces are sent */
export function makeAppReplica(settings: Settings, createTracing?: CreateTracing): AppReplica {
  const basics = makeBasics(settings, createTracing)
  const { config, clock, log } = basics
  const { kube, withoutRight } = joinKube(basics)
  const access = joinAccess(basics)
  const watches = joinWatches(basics, kube)
  const policies = new AdmissionWatch({
    ask: signal => askForAppPolicy(kube, settings.namespace, signal),
    words: policyWords,
    ...{ clock, log },
    intervalMs: config.apps.policyIntervalSeconds * 1000,
    required: config.kubernetes.requirePolicy,
    onAnswer: () => changed(),
  })
  withoutRight.add(() => policies.wake())
  // The reason, which may differ at each check, is in the log and at /readyz: statuses would be written again and again.
  const words = (refusal: string | undefined) => refusal && policyWords.notActive
  const unguarded = () => words(policies.refusal)
  const tenants = joinTenants()
  const isTenant = (name: string) => mayBeGroup(name, config.apps.groups) && tenants.isServed(name)
  const world = appWorld(watches.sights, {
    settings: { apps: config.apps, ownNamespace: settings.namespace, installation: config.installation },
    ...{ unguarded, longUnguarded: () => words(policies.lastingRefusal), isTenant },
    usersOf: async (namespace, group, signal) => {
      const options = { namespace, labelSelector: groupSelector(group), signal }
      const list = ({ apiVersion, kind }: WatchedKind) => kube.list(apiVersion, kind, whole, options)
      const [deployments, pods] = await Promise.all([list(appWatches.deployments), list(appWatches.pods)])
      return { deployments, pods }
    },
  })
  const { routes, members } = joinTables({ basics, kube, access, world, tenants })
  const reconcilerOf = reconcilerMaker(basics, kube, access)
  const apps = reconcilerOf(appKind(world, routes.writer))
  const quotaWorld: QuotaWorld = {
    ...{ sights: watches.quotaSights, installation: config.installation, groups: config.apps.groups, unguarded },
  }
  const quotas = reconcilerOf(quotaKind(quotaWorld))
  let ofMembers: Reconciler<Sight> | undefined
  function joinTenants() {
    return new TenantFollower({
      ...{ kube, clock, log, join: () => joinSight(basics, kube, tenantWatch) },
      onFollowed: sight => {
        ofMembers = reconcilerOf(memberKind(sight, config.apps.groups, members.writer))
        ofMembers.start()
        for (const { ref } of sight.values()) ofMembers.poke(ref.name)
        members.keeper.compare()
      },
      onTenant: name => {
        for (const { ref } of world.inNamespace(name)) apps.poke(keyOf(ref.namespace, ref.name))
      },
    })
  }
  const guarding = () => [unguarded(), words(policies.lastingRefusal)].join()
  let before = guarding()
  const changed = () => {
    if (guarding() === before) return
    before = guarding()
    apps.pokeAll()
    quotas.pokeAll()
  }
  const audit = auditOf(basics)
  const starts = new Starts({
    ...{ world, kube, store: access.intents, token: settings.replica, clock, log },
    isMember: (user, group) => memberOf(user, group, tenants, basics),
    onEnded: audit.started,
  })
  const stops = new StopStamps({ world, kube, clock, log, onStopped: app => audit.stopped(app, 'annotation') })
  const working: Part[] = [
    ...[apps, quotas, routes.keeper, members.keeper, starts, stops],
    { stop: async () => ofMembers?.stop() },
    listening({ access, starts, keepers: [routes.keeper, members.keeper] }),
  ]
  const replica = { basics, kube, access, watches, policies, tenants, world, audit }
  addGauges(replica)
  return {
    ...replica,
    poke: key => apps.poke(key, true),
    stages: stagesOf({ ...replica, working }),
  }
}

/** Undefined where the gateway alone can know it: by the groups of the identity. */
function memberOf(user: string, group: string, tenants: TenantFollower, { config }: Basics): boolean | undefined {
  const fact = mayBeGroup(group, config.apps.groups) ? tenants.get(group) : undefined
  const template = config.tenants.rest?.usernameTemplate
  if (!fact || !hasNamespace(fact) || template === undefined) return undefined
  const { users, groups } = membersOf(fact)
  if (users.includes(template.replace('{username}', () => user))) return true
  return groups.length > 0 ? undefined : false
}

function reconcilerMaker(
  { config, clock, log, metrics }: Basics,
  kube: ReturnType<typeof joinKube>['kube'],
  { leases, keys }: AppAccess,
) {
  const common = {
    ...{ kube, clock, log, failpoint, leases, metrics, room: config.apps.room },
    ...{ holding: new Holding(clock), leaseKey: (name: string) => keys.reconcileLease(name) },
    ...{ lockKey: (name: string) => keys.reconcileLock(name), leaseTtlMs: config.engine.leaseTtlMs },
  }
  return <World>(kind: Kind<World>) => new Reconciler({ kind, ...common })
}

interface Heard {
  readonly access: AppAccess
  readonly starts: Starts
  readonly keepers: readonly { compare(): void }[]
}

/** The work that the bell, and a lost Redis, begin. */
function listening({ access: { bell, connection }, starts, keepers }: Heard): Part {
  const compare = () => {
    for (const keeper of keepers) keeper.compare()
    starts.wake()
  }
  return {
    start: () => {
      bell.on(ring => {
        if (ring.what === 'missed') compare()
        else if (ring.what === 'intents') starts.wake()
      })
      connection.onMove(compare)
      void bell.listen()
    },
    close: () => bell.close(),
  }
}

type StageParts = Omit<AppReplica, 'poke' | 'stages'> & {
  readonly working: readonly Part[]
}

/** All parts, in the order in which they start and stop; they close in the reverse order. */
function stagesOf(parts: StageParts): readonly Stage[] {
  const { basics, kube, access, watches, policies, tenants, working, audit } = parts
  const { connection, leases } = access
  return [
    { when: 'first', parts: [{ start: () => connection.open(), close: () => connection.close() }] },
    {
      when: 'first',
      parts: [
        { start: () => watches.group.start(), close: () => watches.group.stop() },
        ...[tenants, policies],
        { close: () => kube.close() },
        { close: () => basics.tracing.close() },
        { close: () => leases.close() },
        { stop: audit.flush },
      ],
    },
    // Its rights are known then: a status that tells of a missing policy would else be written at each start.
    { when: 'reached', parts: working },
  ]
}
