/** What generated requests are sent to. */
import type { Progress } from '../process/progress.ts'
import type { Replica } from '../stack/replicas.ts'
import type { FuzzOptions } from './options.ts'

export interface Scene {
  /** URL of the API's document. */
  readonly document: string
  /** A pattern of the paths that are asked. Default: all. */
  readonly paths?: string
  readonly replicas: readonly Replica[]
  readonly people: People
  /** Requests that take longer have failed, and event streams are read no longer. */
  readonly timeoutSeconds: number
}

/** What `hooks.py` reads. */
export interface People {
  /** Token of the administrator, if the API has one. */
  readonly admin?: string
  /** Tokens by name. */
  readonly users: Readonly<Record<string, string>>
  /** Tokens of labs, by their users, for routes that labs ask. */
  readonly labs?: Readonly<Record<string, string>>
  /** Names of LNamespaces, if the API has them. */
  readonly tenants?: readonly string[]
  /** Ids of apps, if the API has them. */
  readonly apps?: readonly string[]
  /** Ids of templates of apps. */
  readonly templates?: readonly string[]
  /** Groups of which half of the users are members. */
  readonly groups?: readonly string[]
  /** The token of operators. */
  readonly operator?: string
  /** Owners of containers, by uuid. */
  readonly containers?: Readonly<Record<string, string>>
  /** One of them, which runs no more. */
  readonly ended?: string
  /** Ids of machines of a cloud. */
  readonly instances?: readonly string[]
}

export interface SceneOptions extends Pick<FuzzOptions, 'replicas' | 'users'> {
  /** The folder of an open run. */
  readonly stateDir: string
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Installs the programs of a scene. @returns what starts it */
export type SetupScene = (progress: Progress, signal: AbortSignal) => Promise<(options: SceneOptions) => Promise<Scene>>

/** Raised limits: few users send as many requests as thousands do. */
export const rates = {
  ...{ createsPerMinute: 60_000, changesPerMinute: 60_000, readsPerSecond: 5000, documentsPerSecond: 5000 },
}
