/** Joins the idle engine of a process for apps. Loaded only where apps are stopped that nobody uses. */
import { appPrefix } from '../../apps/names.ts'
import { appOfPod } from '../../apps/watches.ts'
import { appLabels, appLabelValue } from '../../apps/words.ts'
import { failpoint } from '../../base/failpoint.ts'
import { AppOwner } from '../../idle/apps/owner.ts'
import { cpuDuty, limitsOf } from '../../idle/cpu.ts'
import { IdleEngine } from '../../idle/engine.ts'
import { Enrolment } from '../../idle/enrolment.ts'
import type { ActivityService } from '../../idle/rest/service.ts'
import { viewOf } from '../../idle/rest/view.ts'
import { Stamper } from '../../idle/stamper.ts'
import { ActivityStore } from '../../store/activity.ts'
import { DueStore } from '../../store/due.ts'
import { UsageStore } from '../../store/usage.ts'
import { beginIdleAtZero, createIdleMetrics, type IdleMetrics } from '../../telemetry/idle-metrics.ts'
import type { Part } from '../part.ts'
import { IdleSight } from './idle-sight.ts'
import type { AppReplica } from './replica.ts'

const kinds = ['app'] as const

export type IdleParts = Pick<AppReplica, 'basics' | 'kube' | 'access' | 'watches' | 'world' | 'audit'>

export interface AppIdle {
  /** They need complete watches. */
  readonly parts: readonly Part[]
  /** What REST shows of the use of an app. */
  readonly activity: Pick<ActivityService, 'find'>
}

export function joinIdle(parts: IdleParts): AppIdle {
  const { basics, access, watches, world } = parts
  const { config, clock, log, metrics } = basics
  const { connection, keys } = access
  const due = new DueStore(connection, keys)
  const activity = new ActivityStore(connection, keys)
  const idleMetrics = createIdleMetrics(metrics.registry, { kinds, census: () => due.census('app') })
  beginIdleAtZero(idleMetrics, kinds)
  const sight = new IdleSight({ world, ages: () => watches.group.lastWordAgeMs() })
  const owner = ownerOf(parts, sight, activity)
  const engine = new IdleEngine({
    ...{ idle: config.idle, due, activity, metrics: idleMetrics, clock, log, failpoint },
    owners: [owner],
  })
  const find: ActivityService['find'] = async ({ kind, id }) => {
    const [known] = await activity.find(kind, [id])
    const seen = { facts: owner.facts(id), isEnding: owner.isEnding(id) }
    return viewOf({ kind, id }, { rules: config.idle.rules, wallMs: clock.wallMs(), ...seen, known })
  }
  return {
    parts: [engine, ...joinEnrolment(parts, owner, due), ...joinCpu(parts, owner, idleMetrics)],
    activity: { find },
  }
}

function ownerOf({ basics, kube, world, audit }: IdleParts, sight: IdleSight, store: ActivityStore): AppOwner {
  return new AppOwner({
    ...{ sight, store, kube, failpoint, stampPolicy: basics.config.idle.annotations.app },
    prefixOf: id => `${appPrefix(id)}/`,
    onStopped: (app, written) => {
      world.sights.applications.lay(written)
      audit.stopped(app, 'idle')
    },
  })
}

function joinEnrolment({ basics, access, world }: IdleParts, owner: AppOwner, due: DueStore): readonly Part[] {
  const { config, clock, log } = basics
  const tidier = new Stamper({
    owners: [{ kind: 'app', stamp: ({ id }, _, signal) => owner.tidy(id, signal) }],
    ...{ perSecond: config.idle.stampsPerSecond, clock, log },
  })
  const nothing = { podUid: '', mayBeAsked: false, startedMs: undefined, stamps: {} }
  const enrolment = new Enrolment({
    ...{ owners: [owner], due, clock, log, periodMs: config.idle.checkPeriodSeconds * 1000 },
    tidy: (kind, id) => tidier.write({ kind, id, ...nothing }, {}),
  })
  access.connection.onMove(() => enrolment.compareAll())
  const unlisten: (() => void)[] = []
  const listening: Part = {
    start: () => {
      const { applications, pods } = world.sights
      unlisten.push(
        applications.on(({ name }) => enrolment.changed('app', name)),
        pods.on(({ value }) => {
          const id = appOfPod(value)
          if (id !== '') enrolment.changed('app', id)
        }),
      )
    },
    stop: async () => {
      for (const each of unlisten) each()
    },
  }
  return [listening, tidier, enrolment]
}

/** Only where a rule goes by it. */
function joinCpu({ basics, kube, access }: IdleParts, owner: AppOwner, metrics: IdleMetrics): readonly Part[] {
  const { config, clock, log } = basics
  const { rules, cpuPeriodSeconds: periodSeconds } = config.idle
  const { connection, keys, leases } = access
  if (Object.keys(limitsOf(rules)).length === 0) return []
  const duty = cpuDuty({
    ...{ kube, leases, lease: keys.cpuLease, rules, periodSeconds, clock, log },
    store: new UsageStore(connection, keys),
    pods: {
      ...{ kind: owner.kind, labelSelector: `${appLabels.app}=${appLabelValue}` },
      silenceMs: () => owner.silenceMs(),
      ofPod: (namespace, name) => owner.ofPod(namespace, name),
    },
    onList: result => metrics.cpuLists.inc({ result }),
  })
  return [duty]
}
