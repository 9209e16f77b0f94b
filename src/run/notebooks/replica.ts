/** Makes the parts of a process that stops idle notebooks, and joins them. Nothing runs yet, and nothing of labs is loaded. */
import { BlockList, isIPv6 } from 'node:net'
import { failpoint } from '../../base/failpoint.ts'
import type { Config } from '../../config/schema.ts'
import { IdleEngine } from '../../idle/engine.ts'
import { Enrolment } from '../../idle/enrolment.ts'
import { NotebookOwner } from '../../idle/notebooks/owner.ts'
import { Scaler } from '../../idle/notebooks/scaler.ts'
import { NotebookSight, type NotebookWorkloadKind } from '../../idle/notebooks/sight.ts'
import { Stamper } from '../../idle/stamper.ts'
import { AdmissionWatch } from '../../kube/policies/watch.ts'
import type { Settings } from '../../settings/load.ts'
import { ActivityStore } from '../../store/activity.ts'
import { Bell } from '../../store/bell.ts'
import { DueStore } from '../../store/due.ts'
import { Keys } from '../../store/keys.ts'
import { CullingMetrics } from '../../telemetry/culling-metrics.ts'
import { createProcessGauges } from '../../telemetry/gauges.ts'
import { beginIdleAtZero, createIdleMetrics } from '../../telemetry/idle-metrics.ts'
import { forgetLabs } from '../../telemetry/metrics.ts'
import { createNotebookGauges } from '../../telemetry/notebook-gauges.ts'
import { joinActivityService } from '../activity.ts'
import { type Basics, type CreateTracing, makeBasics, version } from '../basics.ts'
import { connect } from '../connect.ts'
import { joinKube } from '../kube.ts'
import type { Part, Stage } from '../part.ts'
import { askForNotebookPolicy, hasSubjects, policyWords } from './policy.ts'
import { joinWatches } from './watches.ts'

const kinds = ['notebook', 'statefulset'] as const satisfies NotebookWorkloadKind[]

export type NotebookReplica = ReturnType<typeof makeNotebookReplica>

/** @param createTracing only if traces are sent */
export function makeNotebookReplica(settings: Settings, createTracing?: CreateTracing) {
  const basics = asConfigured(makeBasics(settings, createTracing))
  const { config, clock, log } = basics
  const { kube, withoutRight } = joinKube(basics)
  const connection = connect(basics)
  const keys = new Keys(config.redis.keyPrefix)
  const bell = new Bell(connection, keys.bell, clock, err => log.error({ err }, 'a listener of the bell failed'))
  const store = { connection, keys, bell }
  const watches = joinWatches(basics, kube)
  const due = new DueStore(connection, keys)
  const activity = new ActivityStore(connection, keys)
  const sight = new NotebookSight(watches)
  const policy = joinPolicy(basics, { kube, watches })
  withoutRight.add(() => policy.wake())
  const owners = ownersOf(basics, { sight, kube, store: activity })
  const engine = joinEngine(basics, { owners, due, activity })
  const enrolling = joinEnrolment(basics, { owners, sight, due, onMove: listener => connection.onMove(listener) })
  const scaler = new Scaler({ sets: watches.statefulSets, kube, clock, log })
  const { service, feed } = joinActivityService(basics, store, {
    // No object names the owner of a notebook reliably: only administrators ask.
    kinds: owners.map(owner => ({ owner, ownerOf: () => undefined, isEnding: id => owner.isEnding(id) })),
    ...{ activity, due },
    onKept: (facts, untilMs) => engine.stampKeep(facts, untilMs),
  })
  addGauges(basics, { watches, kube, connection, policy })
  const looking = [engine, scaler, ...enrolling]
  const guarding = guardingOf({ sight, watches, policy })
  const stages = stagesOf(basics, { kube, connection, bell, watches, feed, guarding, looking })
  return { basics, kube, store, watches, policy, service, stages }
}

interface StageParts {
  readonly kube: ReturnType<typeof joinKube>['kube']
  readonly connection: ReturnType<typeof connect>
  readonly bell: Bell
  readonly watches: ReturnType<typeof joinWatches>
  readonly feed: Part
  readonly guarding: Part
  /** They need Redis, and complete watches. */
  readonly looking: readonly Part[]
}

/** All parts, in the order in which they start and stop; they close in the reverse order. */
function stagesOf(
  { tracing }: Basics,
  { kube, connection, bell, watches, feed, guarding, looking }: StageParts,
): Stage[] {
  return [
    { when: 'first', parts: [{ start: () => connection.open(), close: () => connection.close() }] },
    {
      when: 'first',
      parts: [
        { start: () => watches.group.start(), close: () => watches.group.stop() },
        { close: () => kube.close() },
        { close: () => tracing.close() },
      ],
    },
    { when: 'connected', parts: [{ start: () => void bell.listen(), close: () => bell.close() }] },
    { when: 'connected', parts: [feed] },
    { when: 'reached', parts: [guarding] },
    { when: 'permitted', parts: looking },
  ]
}

interface PolicyParts {
  readonly kube: ReturnType<typeof joinKube>['kube']
  readonly watches: ReturnType<typeof joinWatches>
}

function joinPolicy({ config, clock, log }: Basics, { kube, watches }: PolicyParts): AdmissionWatch {
  return new AdmissionWatch({
    ask: signal => askForNotebookPolicy(kube, watches, signal),
    ...{ words: policyWords, clock, log },
    intervalMs: config.times.policyIntervalSeconds * 1000,
    required: config.kubernetes.requirePolicy,
  })
}

interface GuardParts {
  readonly sight: NotebookSight
  readonly watches: ReturnType<typeof joinWatches>
  readonly policy: AdmissionWatch
}

/** The policy is asked for once there is something that it bounds. */
const guardingOf = ({ sight, watches, policy }: GuardParts): Part => ({
  start: () => {
    sight.on(() => policy.start())
    if (hasSubjects(watches)) policy.start()
  },
  stop: () => policy.stop(),
})

/** Their annotations say at each check what it found, so they have no rest. */
function asConfigured(basics: Basics): Basics {
  const { idle } = basics.config
  return {
    ...basics,
    config: { ...basics.config, idle: { ...idle, restPeriodSeconds: idle.checkPeriodSeconds } },
  }
}

type OwnerParts = Pick<ConstructorParameters<typeof NotebookOwner>[0], 'sight' | 'kube' | 'store'>

function ownersOf({ config, metrics }: Basics, parts: OwnerParts): readonly NotebookOwner[] {
  const isInCluster = rangesOf(config.network.clusterRanges)
  const culling = new CullingMetrics(metrics.registry)
  return kinds.map(
    kind =>
      new NotebookOwner({
        ...{ kind, ...parts, isInCluster, failpoint },
        stampPolicy: config.idle.annotations[kind],
        onStopped: (facts, atMs) => {
          if (kind === 'notebook') culling.culled(facts, atMs)
        },
      }),
  )
}

function rangesOf(ranges: Config['network']['clusterRanges']): (ip: string) => boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [net = '', length = ''] = range.split('/')
    list.addSubnet(net, Number(length), isIPv6(net) ? 'ipv6' : 'ipv4')
  }
  return ip => list.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4')
}

interface EngineParts {
  readonly owners: readonly NotebookOwner[]
  readonly due: DueStore
  readonly activity: ActivityStore
}

function joinEngine({ config, clock, log, metrics }: Basics, { owners, due, activity }: EngineParts): IdleEngine {
  const idleMetrics = createIdleMetrics(metrics.registry, {
    kinds,
    census: kind => due.census(kind as NotebookWorkloadKind),
  })
  beginIdleAtZero(idleMetrics, kinds)
  return new IdleEngine({ idle: config.idle, owners, due, activity, metrics: idleMetrics, clock, log, failpoint })
}

interface EnrolmentParts {
  readonly owners: readonly NotebookOwner[]
  readonly sight: NotebookSight
  readonly due: DueStore
  readonly onMove: (listener: () => void) => void
}

function joinEnrolment({ config, clock, log }: Basics, { owners, sight, due, onMove }: EnrolmentParts): Part[] {
  const tidier = new Stamper({
    owners: owners.map(owner => ({ kind: owner.kind, stamp: ({ id }, _, signal) => owner.tidy(id, signal) })),
    ...{ perSecond: config.idle.stampsPerSecond, clock, log },
  })
  const nothing = { podUid: '', mayBeAsked: false, startedMs: undefined, stamps: {} }
  const enrolment = new Enrolment({
    ...{ owners, due, clock, log, periodMs: config.idle.checkPeriodSeconds * 1000 },
    tidy: (kind, id) => tidier.write({ kind, id, ...nothing }, {}),
  })
  onMove(() => enrolment.compareAll())
  const listening = {
    start: () => {
      sight.on((kind, id) => enrolment.changed(kind, id))
    },
  }
  return [listening, tidier, enrolment]
}

interface GaugeParts {
  readonly watches: ReturnType<typeof joinWatches>
  readonly kube: ReturnType<typeof joinKube>['kube']
  readonly connection: ReturnType<typeof connect>
  readonly policy: AdmissionWatch
}

function addGauges({ metrics, config }: Basics, { watches, kube, connection, policy }: GaugeParts): void {
  const { registry } = metrics
  forgetLabs(registry)
  createProcessGauges(registry, {
    version,
    run: config.run.join(),
    redisConnected: () => connection.connected(),
    watchSilenceMs: () => watches.group.lastWordAgeMs(),
    kubernetesLoad: () => kube.load(),
  })
  createNotebookGauges(registry, { policyActive: () => policy.active })
}
