/**
 * The toy kind: subjects that exist only in tests, and that the engine runs beside labs. A toy is a home with one thing in
 * it, both kept by a small server of the test (`world.ts`). Their steps: `clear`, `home`, `thing`, `ready`; a deletion has
 * `home` and `home-gone`.
 */
import type { Limits } from '../../../src/ops/kind.ts'
import type { Shape, StepContext } from '../../../src/ops/steps.ts'
import {
  type OperationFields,
  type OperationRecord,
  parseOperation,
  type RecordForm,
} from '../../../src/store/records.ts'

export const toy = 'toy'

/** Limits of a creation, a deletion and a clean-up. */
export const timesMs = { create: 120_000, delete: 60_000, clean: 60_000 }

export const toyLimits: Limits = { listMs: timesMs, maxAttempts: 3, longestRequestMs: 10_000 }

export interface ToyPlan {
  readonly color: string
  /** The thing never becomes ready: the creation fails, and cleans up. */
  readonly broken?: boolean
}

export interface ToyKnown {
  homeUid: string | undefined
  thingUid: string | undefined
}

export interface ToyRecord extends OperationRecord {
  readonly homeUid: string | undefined
  readonly thingUid: string | undefined
}

export interface ToyFields extends OperationFields {
  readonly homeUid?: string
  readonly thingUid?: string
}

export interface ToyContext extends StepContext<ToyPlan, ToyKnown> {
  /** Sends a request to the world; a write passes the failpoints of its step. */
  ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<ToyAnswer>
}

export interface ToyAnswer {
  readonly code: number
  readonly home?: Home
}

/** A home as the world shows it. */
export interface Home {
  readonly uid: string
  readonly op: number
  readonly terminating: boolean
  readonly thing?: { readonly uid: string; readonly op: number; readonly state: 'made' | 'ready' | 'broken' }
}

export interface ToyShape extends Shape {
  readonly record: ToyRecord
  readonly fields: ToyFields
  readonly plan: ToyPlan
  readonly known: ToyKnown
  readonly context: ToyContext
}

/** The fields are called as those of a lab's namespace and pod, so that the judge of labs can read the records of toys. */
export const toyForm: RecordForm<ToyRecord, ToyFields> = {
  parse: fields => ({
    ...parseOperation(fields),
    homeUid: fields.get('nsUid') || undefined,
    thingUid: fields.get('podUid') || undefined,
  }),
  names: { homeUid: 'nsUid', thingUid: 'podUid' },
}

/** Environment variable of a replica that runs toys: the address of the world. */
export const worldVariable = 'SKYLAB_TOY_WORLD'
