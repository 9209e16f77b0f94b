/** The wing of tenants beside labs: its definition, rights and policies in the cluster, and a process without a tenant. */
import { startTenantsBeside, tenantsUserBeside } from '../../dev/tenants/beside.ts'
import { configSchema } from '../../src/config/schema.ts'
import { AdminKube } from '../../test/kit/cluster/kube.ts'
import { addUser, type BenchStack } from './bench-stack.ts'
import { applyTenants } from './tenant-policies.ts'

/** Resolves when the process is ready. The run ends it. */
export async function startIdleTenants({ stack, stateDir, redis }: BenchStack, signal: AbortSignal): Promise<void> {
  const kube = new AdminKube(stack.cluster.kubeconfig)
  await (await applyTenants(stack.cluster, kube, configSchema.parse({}).tenants, signal))()
  kube.close()
  await addUser(redis, tenantsUserBeside)
  const { cluster, program } = stack
  const redisUrl = stack.redis.url
  const replica = await startTenantsBeside({ stateDir, cluster, program, redisUrl, restart: false })
  await replica.ready(signal)
}
