/** Joins the way to machines, without Redis: what a new one is asked for with, how it is reached and proved, and its runner. */
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import type { Intent } from '../../clouds/driver.ts'
import type { DispatchConfig } from '../../config/dispatch.ts'
import type { OfferedType } from '../../dispatch/configured.ts'
import type { MachineBrief } from '../../dispatch/container.ts'
import { matchesSecretTag, secretTag, tagNames } from '../../dispatch/tags.ts'
import { initCommand } from '../../machines/init-command.ts'
import { openLink } from '../../machines/link.ts'
import type { MachineParts } from '../../machines/shape.ts'
import type { DispatchFiles } from '../../settings/dispatch-files.ts'
import { connect } from '../../ssh/connect.ts'
import { parsePrivateKey } from '../../ssh/key.ts'
import { type RunnerProgram, runnerProgram } from '../../ssh/program.ts'
import { loginOf } from './cloud.ts'

export interface ReachOptions {
  readonly dispatch: DispatchConfig
  readonly files: DispatchFiles
  readonly types: ReadonlyMap<string, OfferedType>
  /** The tag `InstanceSetID` of new machines. */
  readonly set: string
  readonly clock: Clock
}

type Wanted = Pick<MachineBrief, 'name' | 'type' | 'providerType' | 'idleBehavior'>

export interface Reach
  extends Pick<MachineParts, 'pinTag' | 'connect' | 'digest' | 'program' | 'bootProbe' | 'runnerEnv' | 'link'> {
  readonly intent: (wanted: Wanted, secret: string) => Intent
}

export function reachOf({ dispatch, files, types, set, clock }: ReachOptions): Reach {
  const { CloudVMs, Containers } = dispatch
  const { token, previousTokens, privateKey } = files
  const tokens = [token, ...previousTokens]
  const key = parsePrivateKey(privateKey, 'dispatch.Containers.DispatchPrivateKey')
  const names = tagNames(CloudVMs.TagKeyPrefix)
  const user = loginOf(dispatch)
  const tagsOf = ({ name, type, idleBehavior }: Wanted, secret: string) => ({
    ...CloudVMs.ResourceTags,
    [names.instanceSetId]: set,
    [names.instanceType]: type,
    [names.idleBehavior]: idleBehavior,
    [names.intent]: name,
    [names.instanceSecret]: secretTag(secret, token, CloudVMs.TagSecret),
  })
  return {
    intent: (wanted, secret) => ({
      ...{ token: wanted.name, providerType: wanted.providerType, image: CloudVMs.ImageID, publicKey: key.publicKey },
      tags: tagsOf(wanted, secret),
      initCommand: initCommand(secret, CloudVMs.InstanceInitCommand),
      addedScratchBytes: types.get(wanted.type)?.addedScratchBytes ?? 0,
      preemptible: types.get(wanted.type)?.preemptible ?? false,
    }),
    pinTag: names.hostKey,
    connect: options => connect({ ...options, key, user }),
    digest: tag => answer => (matchesSecretTag(tag, answer, tokens) ? tag : ''),
    program: programOf(dispatch, files),
    bootProbe: CloudVMs.BootProbeCommand,
    runnerEnv: [
      'env',
      `SKYLAB_RUNNER_ENGINE=${Containers.RuntimeEngine}`,
      `SKYLAB_RUNNER_GRACE_MS=${CloudVMs.TimeoutTERM}`,
      // A beat is a probe.
      `SKYLAB_RUNNER_BEAT_MS=${CloudVMs.ProbeInterval}`,
    ].join(' '),
    link: (stream, epoch, plan, handlers) =>
      openLink({ stream, clock, epoch, secret: 'secret' in plan ? plan.secret : '', handlers }),
  }
}

function programOf({ CloudVMs }: DispatchConfig, { runnerBinary }: DispatchFiles): Reach['program'] {
  let program: Promise<RunnerProgram> | undefined
  return () => {
    program ??= runnerProgram({ deploy: runnerBinary, directory: CloudVMs.DeployRunnerDirectory })
    return program.catch(error => {
      // A file that cannot be read now may be readable later.
      program = undefined
      throw new RetryLater((error as Error).message)
    })
  }
}
