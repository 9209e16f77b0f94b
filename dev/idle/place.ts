/** Where the labs of the demo of idleness are, and how their people reach them. */
import type { Jupyter } from '../../test/kit/idle/jupyter.ts'
import { type LabDemo, makeLabDemo } from '../demo/lab.ts'
import type { DemoOptions } from '../demo/options.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import type { Progress } from '../process/progress.ts'
import type { ConfigInput } from '../stack/config.ts'
import type { Stack } from '../stack/stack.ts'

/** What a Hub shows of a person's lab. */
export interface HubView {
  readonly state: 'ready' | 'stopped'
  /** What the spawner answered to the Hub's `poll`: null while the lab runs. */
  readonly poll: number | null
  /** What the lab form says of the last stop; null without a word. */
  readonly form: string | null
}

/** The Hub of the demo, for a person who looks around. */
export interface HubPlace {
  readonly url: string
  readonly logs: readonly string[]
  /** Waits until the Hub shows the lab as running, or as stopped. */
  view(name: string, isStopped: boolean): Promise<HubView>
}

export interface Place {
  readonly stack: Stack
  readonly kubectl: Kubectl
  /** Null where there is none. */
  readonly hub: HubPlace | null
  /** Makes a person's lab; resolves when it can be used. */
  spawn(name: string): Promise<void>
  /** A person's lab, by the way that the person takes. */
  jupyter(name: string): Promise<Jupyter>
}

export interface PlacePlan {
  readonly options: DemoOptions
  /** Of the idle engine. */
  readonly idle: NonNullable<ConfigInput['idle']>
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** The clients of a person's lab, which show nothing of its creation. */
export function quietLab(
  { stack, kubectl }: Pick<Place, 'stack' | 'kubectl'>,
  name: string,
  signal: AbortSignal,
): LabDemo {
  const demo = makeLabDemo({ username: name, url: stack.url, users: stack.users, kubectl, json: true, signal })
  return { ...demo, show: () => {} }
}
