/** Surroundings of the bench's Hubs: one stack, an environment with both spawners, and one Hub after the other. */
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Hub, startHub } from '../../dev/hub/hub.ts'
import { createKubectl, type Kubectl } from '../../dev/kube/kubectl.ts'
import { run as runProgram } from '../../dev/process/command.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { openRun } from '../../dev/run/run.ts'
import { packageSource } from '../../dev/setup/jupyterhub.ts'
import { pythonEnvironment } from '../../dev/setup/python.ts'
import { setup } from '../../dev/setup/setup.ts'
import { kwokPlacement } from '../../dev/stack/config.ts'
import { type Stack, setupStack, startStack } from '../../dev/stack/stack.ts'
import type { KubeObject } from '../../src/base/domain.ts'
import { qualifiedRepositoryOf } from '../../src/config/images.ts'
import { labels } from '../../src/kube/labels.ts'
import { quotasOf } from '../../src/labs/quota.ts'
import { readConfig } from '../../src/settings/config-file.ts'
import { loadSettings } from '../../src/settings/load.ts'
import { asInstallation, plansOf } from '../measure/plans.ts'
import { type Usage, usageOf } from '../measure/usage.ts'
import { Worker } from '../measure/worker.ts'
import type { HubAddress } from './load.ts'
import type { StubQuestion } from './stub.ts'

/** With `hooks`, kubespawner makes all objects of a lab of Skylab. */
export type Spawner = 'skylab' | 'kubespawner' | 'hooks'

/** The ServiceAccount of a Hub that makes pods itself, in `kubespawner.yaml`. */
const hubAccounts: Readonly<Record<Exclude<Spawner, 'skylab'>, string>> = { kubespawner: 'hub', hooks: 'hooks' }

export interface SiteOptions {
  readonly users: number
  readonly replicas: number
  readonly kwok: number
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Versions of the compared Python packages. */
export interface Versions {
  readonly python: string
  readonly jupyterhub: string
  readonly kubespawner: string
}

export interface Site {
  readonly stack: Stack
  readonly stateDir: string
  /** Folder of the virtual environment. */
  readonly environment: string
  readonly versions: Versions
  readonly load: Worker
  readonly users: readonly { readonly name: string; readonly token: string }[]
  /** A new Hub with an empty database. Only one is open at a time. */
  openHub(spawner: Spawner): Promise<OpenHub>
  /** Resolves when the cluster has no lab of either spawner. */
  untilGone(): Promise<void>
  /** Usage of all processes but this one. */
  usage(): Usage
  close(): Promise<void>
}

export interface OpenHub extends Pick<Hub, 'pid' | 'log'> {
  readonly address: HubAddress
  close(): Promise<void>
}

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const goneSeconds = 600

export async function openSite(options: SiteOptions): Promise<Site> {
  const { users, replicas, kwok, progress, signal } = options
  const choice = { realNode: 'never', kwok, audit: true } as const
  await setup(['python'], progress, signal)
  const requirements = join(packageSource, 'requirements', 'bench.txt')
  const environment = await pythonEnvironment({ name: 'jupyterhub-bench', requirements, progress, signal })
  const tools = await setupStack(choice, progress, signal)
  const run = await openRun(progress)
  try {
    const { stateDir } = run
    // One of the users is the administrator, whose token is the Hub's.
    const stack = await startStack({ ...choice, stateDir, tools, progress, signal, replicas, users: users + 1 })
    await stack.cluster.apply(readFileSync(here('kubespawner.yaml'), 'utf8'))
    await writeLabs(stack, labsFile(stateDir))
    const kubectl = createKubectl(tools, stack.cluster.kubeconfig, stateDir)
    return await siteOf({ stack, stateDir, environment, kubectl, signal }, users, () => run.close())
  } catch (error) {
    await run.close()
    throw error
  }
}

interface BenchContext {
  readonly stack: Stack
  readonly stateDir: string
  readonly environment: string
  readonly kubectl: Kubectl
  readonly signal: AbortSignal
}

async function siteOf(context: BenchContext, users: number, close: () => Promise<void>): Promise<Site> {
  const { stack, stateDir, environment, kubectl } = context
  const load = new Worker({ file: new URL('load.ts', import.meta.url), stateDir, nodeArgs: [] })
  const stub = new Worker({ file: new URL('stub.ts', import.meta.url), stateDir, nodeArgs: [] })
  const versions = await versionsIn(environment)
  const stubUrl = await stub.ask<string>({ version: versions.jupyterhub } satisfies StubQuestion)
  return {
    ...{ stack, stateDir, environment, versions, load },
    users: Object.entries(stack.users)
      .filter(([name]) => name !== 'admin')
      .map(([name, { token }]) => ({ name, token }))
      .slice(0, users),
    openHub: spawner => openHub(spawner, context, stubUrl),
    untilGone: async () => {
      const wait = ['wait', '--for=delete', `--timeout=${goneSeconds}s`]
      await kubectl([...wait, 'namespace', '--selector', labels.installation])
      await kubectl([...wait, 'namespace', '--selector', `${usersPrefix}installation`])
      await kubectl([...wait, 'pod', '--namespace', 'kubespawner', '--all'])
    },
    usage: () => usageOf(stack, stateDir, { load: load.pid, stub: stub.pid }),
    close: async () => {
      await Promise.all([load.stop(), stub.stop(), ...stack.replicas.map(replica => replica.stop())])
      await close()
    },
  }
}

async function versionsIn(environment: string): Promise<Versions> {
  const program = [
    'import json, platform',
    'from importlib.metadata import version',
    'versions = {name: version(f"{prefix}{name}") for prefix, name in [("", "jupyterhub"), ("jupyterhub-", "kubespawner")]}',
    'print(json.dumps({"python": platform.python_version(), **versions}))',
  ]
  return JSON.parse(await runProgram(join(environment, 'bin', 'python'), ['-c', program.join('\n')]))
}

async function openHub(spawner: Spawner, context: BenchContext, stubUrl: string): Promise<OpenHub> {
  const { stack, stateDir, environment, signal } = context
  const name = 'hub'
  const token = randomBytes(32).toString('hex')
  const hub = await startHub({
    ...{ stateDir, name, environment, signal },
    package: join(packageSource, 'src'),
    controllerUrl: stack.url,
    token: stack.users.admin!.token,
    names: null,
    address: '127.0.0.1',
    config: here('jupyterhub_config.py'),
    env: {
      BENCH_SPAWNER: spawner,
      BENCH_STUB_URL: stubUrl,
      BENCH_TOKEN: token,
      BENCH_KUBESPAWNER: JSON.stringify(await podsLikeOurs(stack)),
      BENCH_LABS: labsFile(stateDir),
      ...(spawner !== 'skylab' && {
        KUBECONFIG: await stack.cluster.tokenKubeconfig('kubespawner', hubAccounts[spawner]),
      }),
    },
  })
  return {
    address: { url: hub.url, hubUrl: hub.hubUrl, token },
    pid: hub.pid,
    log: hub.log,
    close: async () => {
      await hub.stop()
      rmSync(join(stateDir, name), { recursive: true })
    },
  }
}

/** The installation that labs made by hooks belong to: the replicas ignore them. */
const hooksInstallation = 'hooks'
const usersPrefix = 'user.skylab/'

const labsFile = (stateDir: string): string => join(stateDir, 'labs.json')

/** Writes what Skylab would make for each user beside the pod. */
async function writeLabs({ configFile, users }: Stack, file: string): Promise<void> {
  const { config, tokens } = await loadSettings(configFile, {})
  const plans = await plansOf(asInstallation(config, hooksInstallation), tokens, Object.keys(users))
  const labs = plans.map(({ username, namespace, objects }) => {
    const others = objects.filter(({ kind }) => kind !== 'Pod')
    return [username, { namespace: asUsers(namespace), objects: others.map(asUsers) }] as const
  })
  writeFileSync(file, JSON.stringify(Object.fromEntries(labs)), { mode: 0o600 })
}

/** Only Skylab may write labels and annotations `skylab/…` (`k8s/base/policy.yaml`): others have names of their own. */
function asUsers(object: KubeObject): KubeObject {
  const { metadata } = object
  const renamed = (texts: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [key.replace(/^skylab\//, usersPrefix), text] as const),
    )
  return {
    ...object,
    metadata: { ...metadata, labels: renamed(metadata.labels), annotations: renamed(metadata.annotations) },
  }
}

/** kubespawner's settings for pods like those of a small lab: image, resources, and nodes. */
async function podsLikeOurs({ configFile }: Stack): Promise<object> {
  const { images, lab } = await readConfig(configFile)
  const { limits, requests } = quotasOf(lab.sizes.small!)
  return {
    namespace: 'kubespawner',
    user_namespace_template: `${hooksInstallation}-{username}`,
    image: `${qualifiedRepositoryOf(images)}:${images.recommendedTag}`,
    cpu_limit: limits.cpu,
    mem_limit: limits.memory,
    cpu_guarantee: requests.cpu,
    mem_guarantee: requests.memory,
    node_selector: kwokPlacement.nodeSelector,
    tolerations: kwokPlacement.tolerations,
  }
}
