/** The parts that the duties of the pool need. */
import type { Clock } from '../base/clock.ts'
import type { CloudCall, Driver } from '../clouds/driver.ts'
import type { Leases } from '../leases/leases.ts'
import type { Logger } from '../telemetry/log.ts'

export interface DutyParts {
  readonly leases: Pick<Leases, 'acquireTask'>
  readonly clock: Clock
  readonly log: Logger
  readonly failpoint: (place: string) => void | Promise<void>
}

/** Calls of the cloud in their turn, as `machines/cloud.ts` makes them. */
export interface CloudCalls {
  call<T>(operation: string, call: CloudCall, ask: (driver: Driver) => Promise<T>): Promise<T>
}

export interface CloudDutyParts extends DutyParts {
  readonly cloud: CloudCalls
  /** How long the cloud may take to list. */
  readonly patienceMs: number
}
