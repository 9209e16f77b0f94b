/** Where the tests run: the cluster that `npm test` started, handed on by a file. */
import { readFileSync } from 'node:fs'
import type { ConfigPlan } from '../../dev/stack/config.ts'

/** In the environment of vitest: the file. */
export const testBedVariable = 'SKYLAB_TEST_BED'

export interface TestBed {
  /** An administrator's, for looking. */
  readonly kubeconfig: string
  /** The controller's own ServiceAccount's, as which replicas run. */
  readonly controllerKubeconfig: string
  /** Null on a cluster that is not ours. */
  readonly auditLog: string | null
  /** Whether labs go to nodes of KWOK. */
  readonly labsOnKwok: boolean
  readonly images: ConfigPlan['images']
  /** Whether a registry answers there, so that tags resolve to digests. */
  readonly hasRegistry: boolean
  /** Folder of the run, in which all that tests start has its place: what is left there is ended with the run. */
  readonly stateDir: string
  /** The image that each test's own Redis is started from; null where it is a process. */
  readonly redisImage: string | null
  readonly haproxy: string
  readonly kubectl: string
}

let bed: TestBed | undefined

/** @throws when the tests were not started by `npm test` */
export function testBed(): TestBed {
  const file = process.env[testBedVariable]
  if (!file) throw new Error(`integration tests need a cluster: npm test -- --cluster says how (${testBedVariable})`)
  bed ??= JSON.parse(readFileSync(file, 'utf8')) as TestBed
  return bed
}
