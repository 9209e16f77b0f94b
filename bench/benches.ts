/** All benches by name. */
import type { Progress } from '../dev/process/progress.ts'
import { appsBench } from './apps/apps.ts'
import { chaosBench } from './chaos/chaos.ts'
import { churnBench } from './churn/churn.ts'
import { cullerBench } from './culler/culler.ts'
import { dispatchBench } from './dispatch/dispatch.ts'
import { flameBench } from './flame/flame.ts'
import { gatewayBench } from './gateway/gateway.ts'
import { heirsBench } from './heirs/heirs.ts'
import { hubBench } from './hub/hub.ts'
import { idleBench } from './idle/idle.ts'
import { imagesBench } from './images/images.ts'
import { keepersBench } from './keepers/keepers.ts'
import { looksBench } from './looks/looks.ts'
import { notebooksBench } from './notebooks/notebooks.ts'
import { readersBench } from './readers/readers.ts'
import { spawnBench } from './spawn/spawn.ts'
import { sshBench } from './ssh/ssh.ts'
import { stormBench } from './storm/storm.ts'
import { tenantsBench } from './tenants/tenants.ts'
import { tenantsAuthorizationBench } from './tenants-authorization/tenants-authorization.ts'
import { worstBench } from './worst/worst.ts'

/** Resolves with the figures of the `RESULT` line. */
export type Bench = (args: readonly string[], progress: Progress, signal: AbortSignal) => Promise<object>

export const benches = {
  spawn: spawnBench,
  churn: churnBench,
  storm: stormBench,
  idle: idleBench,
  looks: looksBench,
  culler: cullerBench,
  heirs: heirsBench,
  readers: readersBench,
  images: imagesBench,
  hub: hubBench,
  gateway: gatewayBench,
  worst: worstBench,
  tenants: tenantsBench,
  'tenants-authorization': tenantsAuthorizationBench,
  notebooks: notebooksBench,
  apps: appsBench,
  'dispatch-pass': dispatchBench,
  ssh: sshBench,
  keepers: keepersBench,
  'chaos-in-process': chaosBench,
  flame: flameBench,
} satisfies Readonly<Record<string, Bench>>

export type BenchName = keyof typeof benches

export const isBench = (name: string): name is BenchName => Object.hasOwn(benches, name)
