/** One cluster and one Redis with everything on: three replicas for labs and a process for each other capability. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { amountsDefinitionOf, definitionOf } from '../../src/billing/postgres/statements.ts'
import { configSchema } from '../../src/config/schema.ts'
import { type AppsBeside, appsUsersBeside, startAppsBeside } from '../apps/beside.ts'
import type { DemoOptions } from '../demo/options.ts'
import { cloudBeside, folderBeside, startBeside, userBeside } from '../dispatch/beside.ts'
import { files, mostMachines } from '../dispatch/site.ts'
import { quickTimes } from '../dispatch/times.ts'
import { idle as ofLabs, rule } from '../idle/demo.ts'
import { appsManifests } from '../kube/apps.ts'
import { createKubectl, type Kubectl } from '../kube/kubectl.ts'
import { tenantsManifests } from '../kube/tenants.ts'
import { type Postgres, startPostgres } from '../postgres/postgres.ts'
import { UsageError } from '../process/program.ts'
import type { Progress } from '../process/progress.ts'
import type { Tools } from '../setup/setup.ts'
import type { ConfigInput, DemoUsers } from '../stack/config.ts'
import type { Replica } from '../stack/replicas.ts'
import { type Stack, startStack } from '../stack/stack.ts'
import { startTenantsBeside, tenantsKeyPrefix, tenantsUserBeside } from '../tenants/beside.ts'
import { makePeople, makeTokens, type Name, names, type Person } from '../tenants/people.ts'
import { billingOf, billTable } from '../tenants/site.ts'

/** The tenant of the story. Only an LNamespace that is named counts for machines. */
export const tenant = 'blue'

/** What a tenant may have at once, as an operator sets it. */
const quota = { pods: '4', 'requests.cpu': '1' }

const idle = {
  ...ofLabs,
  // An app counts as used by requests through the gateway, and by nothing else.
  rules: [
    { name: 'apps', match: { kinds: ['app' as const] }, sources: ['traffic' as const], ...rule },
    ...ofLabs.rules,
  ],
} satisfies ConfigInput['idle']

/** The people of REST have the same names in the cluster. */
const rest = { usernameTemplate: '{username}' }

export interface AllSite {
  readonly stack: Stack
  /** As the administrator. */
  readonly kubectl: Kubectl
  readonly people: Readonly<Record<Name, Person>>
  /** The database of bills. */
  readonly postgres: Postgres
  readonly tenants: Replica
  readonly apps: AppsBeside
  readonly dispatch: Replica
  /** Of the operators of dispatch. */
  readonly managementToken: string
  /** The machines, as they lie on the disk. */
  readonly cloud: ReturnType<typeof cloudBeside>
}

export interface AllOptions {
  readonly options: DemoOptions
  /** The folder of an open run. */
  readonly stateDir: string
  readonly tools: Tools
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Starts all parts; resolves when every process is ready. When `signal` or a failure interrupts it, the run ends its parts. */
export async function startAll(all: AllOptions): Promise<AllSite> {
  const { options, stateDir, tools, progress, signal } = all
  const tokens = makeTokens()
  // By this token the idle engine asks a lab without a Hub what its kernels do.
  const lab = { env: { JUPYTER_TOKEN: randomBytes(16).toString('hex') } }
  const statements = [
    ...definitionOf('public', billTable, 'skylab'),
    ...amountsDefinitionOf('public', billTable, 'skylab'),
  ]
  const [stack, postgres] = await Promise.all([
    startStack({
      ...{ ...options, ...options.cluster, stateDir, tools, progress, signal },
      ...{ people: tokens, accounts: accountsOf(tokens), overrides: { idle, lab } },
      redisUsers: [tenantsUserBeside, ...appsUsersBeside, userBeside],
    }),
    progress.part('PostgreSQL', () => startPostgres({ stateDir, statements, signal })),
  ])
  const { cluster } = stack
  try {
    if (stack.labsOnKwok) throw new UsageError('--all: needs a real node, whose kubelet runs labs and apps')
    const kubectl = createKubectl(tools, cluster.kubeconfig, cluster.stateDir)
    const people = await makePeople({ cluster, tokens, tools, stateDir, signal })
    const others = await progress.part('tenants, apps, gateway and dispatch', () => startOthers(all, stack, postgres))
    const managementToken = await readFile(join(folderBeside(stateDir), files.managementToken), 'utf8')
    return { stack, kubectl, people, postgres, ...others, managementToken, cloud: cloudBeside(stateDir) }
  } catch (error) {
    // Otherwise they would be restarted again and again while the run is being closed.
    await Promise.all(stack.replicas.map(replica => replica.stop(0)))
    throw error
  }
}

const firstUid = 4_200_000

/** The tokens of people are the same for REST and for the cluster. */
const accountsOf = (tokens: Readonly<Record<Name, string>>): DemoUsers =>
  Object.fromEntries(
    names.map((name, index) => [name, { token: tokens[name], scopes: ['exec:notebook'], uid: firstUid + index }]),
  )

/** Starts what stands beside the labs' replicas, each with a user of Redis, an account and a configuration of its own. */
async function startOthers({ stateDir, signal }: AllOptions, stack: Stack, postgres: Postgres) {
  const { cluster, program, users } = stack
  const billing = await billingOf(postgres, stateDir)
  const ofTenants = { rest, billing, platform: { quota } }
  const { tenants: patchedBy } = configSchema.parse({ tenants: ofTenants })
  await cluster.apply(await tenantsManifests({ tenants: patchedBy }))
  await cluster.apply(await appsManifests())
  const common = { stateDir, cluster, program, users, redisUrl: stack.redis.url, restart: false }
  const [tenants, apps, dispatch] = await Promise.all([
    startTenantsBeside({ ...common, tenants: ofTenants }),
    startAppsBeside({ ...common, rest: true, config: { idle, tenants: { rest } } }),
    startBeside({
      ...common,
      cloud: { ...quickTimes, MaxInstances: mostMachines },
      block: {
        tenantsKeyPrefix,
        tenants: { [tenant]: {} },
        billingTags: ['cost-center', 'project'],
        billAmounts: true,
      },
      config: { tenants: { rest, billing } },
    }),
  ])
  const all = [tenants, apps.controller, apps.gateway, dispatch]
  try {
    await Promise.all(all.map(replica => replica.ready(signal)))
  } catch (error) {
    await Promise.all(all.map(replica => replica.stop(0)))
    throw error
  }
  return { tenants, apps, dispatch }
}

/** Stops all processes of Skylab. */
export async function stopAll({ stack, tenants, apps, dispatch }: AllSite): Promise<void> {
  const all = [...stack.replicas, tenants, apps.controller, apps.gateway, dispatch]
  await Promise.all(all.map(replica => replica.stop(0)))
}
