/** A whole platform on the real node: a stack, the cluster's DNS, and a JupyterHub whose labs the stack makes. */
import { fileURLToPath } from 'node:url'
import type { Progress } from '../process/progress.ts'
import { whyNoNodeNow } from '../run/claim.ts'
import { openRun } from '../run/run.ts'
import { type HubVersion, hubEnvironment, hubPackage } from '../setup/jupyterhub.ts'
import { setup, type Tools } from '../setup/setup.ts'
import { type ConfigInput, type DemoUsers, makeHubAccount } from '../stack/config.ts'
import { type Stack, setupStack, startStack } from '../stack/stack.ts'
import { type Hub, labsOfHub, startHub } from './hub.ts'
import { startNames } from './names.ts'

export interface PlatformOptions {
  readonly version: HubVersion
  readonly replicas: number
  /** Number of users with tokens; at least three are made. */
  readonly users: number
  /** More accounts for the API, by name. */
  readonly accounts?: DemoUsers
  /** More blocks of the configuration. */
  readonly overrides?: Omit<ConfigInput, keyof typeof labsOfHub>
  readonly progress: Progress
  readonly signal: AbortSignal
}

export interface Platform {
  readonly stack: Stack
  readonly hub: Hub
  readonly tools: Tools
}

/** The name of the Hub's own account among the stack's users. */
export const hubAccount = 'hub'

/** The folder for logs of Hub and proxy: the run's own folder is removed with the run. */
const keptLogs = fileURLToPath(new URL('../../.artefacts/hub', import.meta.url))

const noNode = 'There is no node for labs that a Hub could reach'

/** Starts all parts, does the work and stops them. Throws, in words for a person, when no real node is possible. */
export async function withPlatform<T>(options: PlatformOptions, work: (platform: Platform) => Promise<T>): Promise<T> {
  const { version, progress, signal } = options
  const reason = whyNoNodeNow()
  if (reason) throw new Error(`${noNode}: ${reason}`)
  const tools = await setup(['names', 'python', 'kubectl'], progress, signal)
  const environment = await hubEnvironment(version, progress, signal)
  const cluster = { realNode: 'auto', kwok: 0, audit: false } as const
  const stackTools = await setupStack(cluster, progress, signal)
  const run = await openRun(progress)
  try {
    const account = makeHubAccount()
    const { stateDir } = run
    const stack = await startStack({
      ...{ ...options, ...cluster, stateDir, tools: stackTools },
      accounts: { ...options.accounts, [hubAccount]: account },
      overrides: { ...options.overrides, ...labsOfHub },
    })
    try {
      if (stack.labsOnKwok) throw new Error(noNode)
      const start = () => startBefore(stack, { ...options, stateDir, environment, token: account.token, tools })
      return await work({ stack, hub: await progress.part(`JupyterHub ${version}`, start), tools })
    } finally {
      await Promise.all(stack.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
}

interface HubPlan extends Pick<PlatformOptions, 'signal'> {
  readonly stateDir: string
  readonly environment: string
  readonly token: string
  readonly tools: Tools
}

async function startBefore({ cluster, url }: Stack, plan: HubPlan): Promise<Hub> {
  const { stateDir, environment, tools, signal } = plan
  const [names, folder] = await Promise.all([
    startNames({ stateDir, cluster, tools, signal }),
    hubPackage(stateDir, environment, signal),
  ])
  return startHub({ ...plan, names, package: folder, controllerUrl: url, keepLogsIn: keptLogs })
}
