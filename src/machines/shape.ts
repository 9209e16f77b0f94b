/** The types of machines as the engine sees them, and what their steps get. */
import type { Intent } from '../clouds/driver.ts'
import type { MachineBrief } from '../dispatch/container.ts'
import type { Listed, Warrant } from '../dispatch/protocol.ts'
import type { Shape, Step, StepContext, StepResult } from '../ops/steps.ts'
import type { ConnectOptions, Machine, MachineChannel } from '../ssh/machine.ts'
import type { RunnerProgram } from '../ssh/program.ts'
import type { FoundRun, KeepingStore, Sending } from '../store/dispatch/keeping.ts'
import type { OperationFields, OperationRecord } from '../store/records.ts'
import type { SubjectBell } from '../store/subject-bell.ts'
import type { Cloud } from './cloud.ts'
import type { Keeping } from './insisting.ts'
import type { LinkHandlers, RunnerLink, Teach } from './ports.ts'
import type { Sight } from './sight.ts'

/** A machine's secret for its creation, sealed in Redis. An adopted machine may have only the digest of it, from its tag. */
export type MachinePlan = { readonly secret: string } | { readonly digest: string }

export type MachineFields = OperationFields
export type MachineStep = Step<MachineShape>
export type MachineResult = StepResult<MachineFields>

export interface MachineContext extends StepContext<MachinePlan, object> {
  readonly parts: MachineParts
  readonly keeping: Keeping
}

export interface MachineShape extends Shape {
  readonly record: OperationRecord
  readonly fields: MachineFields
  readonly plan: MachinePlan
  readonly known: object
  readonly context: MachineContext
}

export interface MachineTimes {
  readonly probeMs: number
  readonly shutdownMs: number
  readonly signalMs: number
  readonly termMs: number
  /** Until a keeper that cannot reach its machine lets another replica try. */
  readonly letGoMs: number
  /** How often a good probe is recorded. */
  readonly tellMs: number
}

/** Parts that all keepers of a replica share. */
export interface MachineParts {
  readonly cloud: Cloud
  readonly keeping: KeepingStore
  readonly wakes: Pick<SubjectBell, 'on'>
  readonly teach: Teach
  readonly sight: Sight
  readonly times: MachineTimes
  readonly program: () => Promise<RunnerProgram>
  /** The intent of a new machine, with its tags and the script of its first start. */
  readonly intent: (brief: MachineBrief, secret: string) => Intent | Promise<Intent>
  /** The tag by which a pinned host key outlives Redis. */
  readonly pinTag: string
  /** Groups of types that share a quota, by the name of a type. */
  readonly groupOf: (type: string) => string
  readonly connect: (
    options: Pick<ConnectOptions, 'address' | 'secret' | 'digest' | 'pinned' | 'agent' | 'signal'>,
  ) => Promise<Machine>
  /** Makes of a machine's answer what this tag has in place of its secret; '' where it is of another. */
  readonly digest: (tag: string) => (answer: string) => string
  readonly bootProbe: string
  /** The environment of the runner: `env NAME=value …`. */
  readonly runnerEnv: string
  readonly link: (
    channel: MachineChannel,
    epoch: number,
    secret: MachinePlan,
    handlers: LinkHandlers,
  ) => Promise<RunnerLink>
  readonly warrant: (uuid: string, sending: Sending) => Warrant
  /** The key of a run's tunnel. */
  readonly tunnelKey: (uuid: string, run: number) => string
  /** A listed run as Redis records it; undefined where no token of this installation has sealed it. */
  readonly found: (listed: Listed) => FoundRun | undefined
}
