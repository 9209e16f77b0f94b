/** The wing of tenants beside labs: its definition, rights and policies in the cluster, and a process without a tenant. */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type ConfigInput, writeConfig } from '../../dev/stack/config.ts'
import { Replica } from '../../dev/stack/replicas.ts'
import { configSchema } from '../../src/config/schema.ts'
import { tenantsAccount } from '../../src/tenants/settings.ts'
import { AdminKube } from '../../test/kit/cluster/kube.ts'
import type { BenchStack } from './bench-stack.ts'
import { applyTenants } from './tenant-policies.ts'

const namespace = 'skylab'

/** Resolves when the process is ready. The run ends it. */
export async function startIdleTenants({ stack, stateDir }: BenchStack, signal: AbortSignal): Promise<void> {
  const kube = new AdminKube(stack.cluster.kubeconfig)
  await (await applyTenants(stack.cluster, kube, configSchema.parse({}).tenants, signal))()
  kube.close()
  const folder = join(stateDir, 'tenants')
  mkdirSync(folder)
  const kubeconfig = await stack.cluster.tokenKubeconfig(namespace, tenantsAccount)
  const config: ConfigInput = {
    run: ['tenants'],
    api: { host: '127.0.0.1' },
    redis: { url: stack.redis.programUrl },
    kubernetes: { kubeconfig, namespace },
  }
  const configFile = await writeConfig(folder, config, {})
  const replica = await Replica.start({ name: 'tenants', stateDir, configFile, program: stack.program, restart: false })
  await replica.ready(signal)
}
