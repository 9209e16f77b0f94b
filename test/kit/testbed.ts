/** The test bed: the cluster that `npm test` started. A file describes it to the tests. */
import { readFileSync } from 'node:fs'
import type { ConfigPlan } from '../../dev/stack/config.ts'

/** Environment variable of vitest: the path of the file. */
export const testBedVariable = 'SKYLAB_TEST_BED'

export interface TestBed {
  /** Kubeconfig of an administrator, for inspection. */
  readonly kubeconfig: string
  /** Kubeconfig of the controller's ServiceAccount, for replicas. */
  readonly controllerKubeconfig: string
  /** The audit log; null on a foreign cluster. */
  readonly auditLog: string | null
  /** Whether labs run on nodes of KWOK. */
  readonly labsOnKwok: boolean
  readonly images: ConfigPlan['images']
  /** Whether the registry exists, so that tags resolve to digests. */
  readonly hasRegistry: boolean
  /** Folder of the run. Everything that tests start lives in it, and ends with the run. */
  readonly stateDir: string
  /** Image of each test's own Redis; null: a process. */
  readonly redisImage: string | null
  readonly haproxy: string
  readonly kubectl: string
}

let bed: TestBed | undefined

/** @throws if the tests were not started by `npm test` */
export function testBed(): TestBed {
  const file = process.env[testBedVariable]
  if (!file) throw new Error(`integration tests need a cluster: npm test -- --cluster says how (${testBedVariable})`)
  bed ??= JSON.parse(readFileSync(file, 'utf8')) as TestBed
  return bed
}
