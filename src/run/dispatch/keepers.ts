/** Joins the keepers of machines: the kind `instance`, and all that its steps need. */
import { RetryLater } from '../../base/errors.ts'
import { Slots } from '../../base/slots.ts'
import { sealedName } from '../../base/subject.ts'
import type { Driver } from '../../clouds/driver.ts'
import type { OfferedType } from '../../dispatch/configured.ts'
import type { MachineBrief } from '../../dispatch/container.ts'
import type { Listed, RunSpec } from '../../dispatch/protocol.ts'
import { instanceSetIdOf, matchesSecretTag, secretTag, tagNames } from '../../dispatch/tags.ts'
import { aboutOf, warrantOf } from '../../dispatch/warrant.ts'
import { Cloud } from '../../machines/cloud.ts'
import { initCommand } from '../../machines/init-command.ts'
import { machineKindOf } from '../../machines/kind.ts'
import { openLink } from '../../machines/link.ts'
import type { MachineParts } from '../../machines/shape.ts'
import type { Throttles } from '../../pool/throttle.ts'
import { connect } from '../../ssh/connect.ts'
import { parsePrivateKey } from '../../ssh/key.ts'
import { type RunnerProgram, runnerProgram } from '../../ssh/program.ts'
import type { FoundRun, Sending } from '../../store/dispatch/keeping.ts'
import { containerKind, machineKind } from '../../store/dispatch-keys.ts'
import { SubjectBell } from '../../store/subject-bell.ts'
import type { Basics } from '../basics.ts'
import { joinKind } from '../kind.ts'
import { loginOf, longestCallMs } from './cloud.ts'
import type { DispatchSight } from './sight.ts'
import type { DispatchStore } from './store.ts'

export interface KeeperShared {
  readonly driver: Driver
  readonly throttles: Throttles
  readonly types: ReadonlyMap<string, OfferedType>
  readonly sight: DispatchSight
}

/** How often a good probe is told: a third of the shortest time by which it is judged would do. */
const tellShare = 1 / 10
const listMs = 2_000
/** From the SIGKILL of a container until its end is told. */
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

function cloudOf({ clock }: Basics, { driver, throttles, sight }: KeeperShared): Cloud {
  return new Cloud({
    ...{ driver, clock, listMs },
    reserve: () => throttles.reserve(),
    onCall: sight.onCall,
  })
}

function machineParts(
  basics: Basics,
  { sealer }: DispatchStore,
  { throttles, types, sight }: KeeperShared,
): Omit<MachineParts, 'cloud' | 'wakes' | 'keeping'> {
  const { config, settings, clock } = basics
  const { CloudVMs, Containers } = config.dispatch!
  const { token, previousTokens, privateKey, runnerBinary } = settings.dispatch!
  const tokens = [token, ...previousTokens]
  const key = parsePrivateKey(privateKey, 'dispatch.Containers.DispatchPrivateKey')
  const names = tagNames(CloudVMs.TagKeyPrefix)
  const user = loginOf(config.dispatch!)
  let program: Promise<RunnerProgram> | undefined
  const tagsOf = ({ name, type, idleBehavior }: MachineBrief, secret: string) => ({
    ...CloudVMs.ResourceTags,
    [names.instanceSetId]: instanceSetIdOf(token),
    [names.instanceType]: type,
    [names.idleBehavior]: idleBehavior,
    [names.intent]: name,
    [names.instanceSecret]: secretTag(secret, token, CloudVMs.TagSecret),
  })
  return {
    teach: outcome => throttles.teach(outcome),
    sight: sight.machines,
    times: {
      ...{ probeMs: CloudVMs.ProbeInterval, shutdownMs: CloudVMs.TimeoutShutdown },
      // The runner ends what does not end by itself, and needs a moment for that.
      ...{ signalMs: CloudVMs.TimeoutSignal, termMs: CloudVMs.TimeoutTERM + killMs },
      ...{ letGoMs: 6 * CloudVMs.ProbeInterval, tellMs: CloudVMs.TimeoutProbe * tellShare },
    },
    program: () => {
      program ??= runnerProgram({ deploy: runnerBinary, directory: CloudVMs.DeployRunnerDirectory })
      return program.catch(error => {
        // A file that cannot be read now may be readable later.
        program = undefined
        throw new RetryLater((error as Error).message)
      })
    },
    intent: (brief, secret) => ({
      ...{ token: brief.name, providerType: brief.providerType, image: CloudVMs.ImageID, publicKey: key.publicKey },
      tags: tagsOf(brief, secret),
      initCommand: initCommand(secret, CloudVMs.InstanceInitCommand),
      addedScratchBytes: types.get(brief.type)?.addedScratchBytes ?? 0,
      preemptible: types.get(brief.type)?.preemptible ?? false,
    }),
    pinTag: names.hostKey,
    groupOf: type => types.get(type)?.group ?? type,
    connect: options => connect({ ...options, key, user }),
    digest: tag => answer => (matchesSecretTag(tag, answer, tokens) ? tag : ''),
    bootProbe: CloudVMs.BootProbeCommand,
    runnerEnv: `env SKYLAB_RUNNER_ENGINE=${Containers.RuntimeEngine} SKYLAB_RUNNER_GRACE_MS=${CloudVMs.TimeoutTERM}`,
    link: (stream, epoch, plan, handlers) =>
      openLink({ stream, clock, epoch, secret: 'secret' in plan ? plan.secret : '', handlers }),
    warrant: (uuid, sending) => sealed(token, uuid, sending, opened(sealer, uuid, sending)),
    found: listed => foundOf(tokens, sealer, listed),
  }
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
