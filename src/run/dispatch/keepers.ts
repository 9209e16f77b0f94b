/** Joins the keepers of machines: the kind `instance`, and all that its steps need. */
import { Slots } from '../../base/slots.ts'
import { sealedName } from '../../base/subject.ts'
import type { Driver } from '../../clouds/driver.ts'
import type { OfferedType } from '../../dispatch/configured.ts'
import type { Listed, RunSpec } from '../../dispatch/protocol.ts'
import { instanceSetIdOf } from '../../dispatch/tags.ts'
import { tunnelKey } from '../../dispatch/tunnel.ts'
import { aboutOf, warrantOf } from '../../dispatch/warrant.ts'
import { Cloud } from '../../machines/cloud.ts'
import { machineKindOf } from '../../machines/kind.ts'
import type { MachineParts } from '../../machines/shape.ts'
import type { Payers } from '../../pool/payers.ts'
import type { Throttles } from '../../pool/throttle.ts'
import type { FoundRun, Sending } from '../../store/dispatch/keeping.ts'
import { containerKind, machineKind } from '../../store/dispatch-keys.ts'
import { SubjectBell } from '../../store/subject-bell.ts'
import type { Basics } from '../basics.ts'
import { joinKind } from '../kind.ts'
import { longestCallMs } from './cloud.ts'
import { reachOf } from './reach.ts'
import type { DispatchSight } from './sight.ts'
import type { DispatchStore } from './store.ts'

export interface KeeperShared {
  readonly driver: Driver
  readonly throttles: Throttles
  readonly types: ReadonlyMap<string, OfferedType>
  readonly sight: DispatchSight
  readonly payers: Payers | undefined
}

/** How often a good probe is recorded: a third of the shortest time by which it is judged would do. */
const tellShare = 1 / 10
/** Between two listings of one replica, at most: a machine that has ended is looked for at each probe. */
const longestListMs = 2_000
/** From the SIGKILL of a container until its end is reported. */
const killMs = 30_000

export function joinKeepers(basics: Basics, store: DispatchStore, shared: KeeperShared) {
  const { config } = basics
  const wakes = new SubjectBell(store.bell, machineKind)
  const cloud = cloudOf(basics, shared)
  const parts: MachineParts = { ...machineParts(basics, store, shared), cloud, wakes, keeping: store.keeping }
  const kind = joinKind(basics, store, {
    kind: machineKindOf(parts, { longestRequestMs: longestCallMs }),
    access: store.access,
    room: new Slots(config.engine.room),
  })
  return { kind, cloud, close: () => wakes.close() }
}

function cloudOf({ clock, config }: Basics, { driver, throttles, sight }: KeeperShared): Cloud {
  return new Cloud({
    ...{ driver, clock, listMs: Math.min(longestListMs, config.dispatch!.CloudVMs.ProbeInterval) },
    reserve: () => throttles.reserve(),
    onCall: sight.onCall,
  })
}

function machineParts(
  basics: Basics,
  { sealer }: DispatchStore,
  { throttles, types, sight, payers }: KeeperShared,
): Omit<MachineParts, 'cloud' | 'wakes' | 'keeping'> {
  const { config, settings, clock } = basics
  const { CloudVMs } = config.dispatch!
  const { token, previousTokens } = settings.dispatch!
  const tokens = [token, ...previousTokens]
  const set = instanceSetIdOf(token)
  const reach = reachOf({ dispatch: config.dispatch!, files: settings.dispatch!, types, set, clock })
  return {
    ...reach,
    intent: async (brief, secret) => {
      const intent = reach.intent(brief, secret)
      return { ...intent, tags: { ...intent.tags, ...(await payerTags(payers, brief.tenant)) } }
    },
    teach: outcome => throttles.teach(outcome),
    sight: sight.machines,
    times: {
      ...{ probeMs: CloudVMs.ProbeInterval, shutdownMs: CloudVMs.TimeoutShutdown },
      // The runner ends what does not end by itself, and needs a moment for that.
      ...{ signalMs: CloudVMs.TimeoutSignal, termMs: CloudVMs.TimeoutTERM + killMs },
      ...{ letGoMs: 6 * CloudVMs.ProbeInterval, tellMs: CloudVMs.TimeoutProbe * tellShare },
    },
    groupOf: type => types.get(type)?.group ?? type,
    warrant: (uuid, sending) => sealed(token, uuid, sending, opened(sealer, uuid, sending)),
    tunnelKey: (uuid, run) => tunnelKey(token, uuid, run),
    found: listed => foundOf(tokens, sealer, listed),
  }
}

/** No machine waits for them: what is not known now, the sweep writes. */
async function payerTags(payers: Payers | undefined, tenant: string): Promise<Readonly<Record<string, string>>> {
  await payers?.refresh().catch(() => {})
  return Object.fromEntries(Object.entries(payers?.tagsOf(tenant) ?? {}).filter(([, value]) => value !== ''))
}

const nameOf = (uuid: string) => sealedName({ kind: containerKind, name: uuid })

const opened = (sealer: DispatchStore['sealer'], uuid: string, { sealedSpec }: Sending): RunSpec =>
  JSON.parse(sealer.open(sealedSpec, nameOf(uuid), uuid)) as RunSpec

const sealed = (token: string, uuid: string, { run, owner, view, shape, priority }: Sending, spec: RunSpec) =>
  warrantOf(token, { uuid, run, owner, spec }, { view, shape, priority })

function foundOf(tokens: readonly string[], sealer: DispatchStore['sealer'], listed: Listed): FoundRun | undefined {
  const about = aboutOf(tokens, listed)
  if (!about) return undefined
  const { uuid, run, state, startedMs = 0, finishedMs = 0, spec, end } = listed
  const sealedSpec = sealer.seal(JSON.stringify(spec), nameOf(uuid), uuid)
  const running = state !== 'starting'
  return { uuid, run, ...about, sealedSpec, running, startedMs, ...(end && { end: { ...end, atMs: finishedMs } }) }
}
