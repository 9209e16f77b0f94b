/** Output of the demo of tenants for programs. */
import type { Name } from './people.ts'
import type { Answers } from './questions.ts'

/** The one JSON object of `--json`. */
export interface TenantsReport {
  /** Of REST. */
  readonly url: string
  /** An administrator's. */
  readonly kubeconfig: string
  readonly people: Readonly<Record<Name, { readonly token: string; readonly kubeconfig: string }>>
  readonly namespace: string
  /** What is asked of each person. */
  readonly questions: readonly string[]
  /** By stage and person, in the order of the questions. */
  readonly answers: Readonly<Record<'before' | 'made' | 'edited' | 'sudo' | 'ended', Answers>>
  /** Rows of the table of bills as `KEY=VALUE`, by stage, and lines of its log. */
  readonly bill: {
    readonly made: readonly string[]
    readonly edited: readonly string[]
    /** Null where the LNamespace was left. */
    readonly ended: readonly string[] | null
    readonly log: readonly string[]
  }
  readonly seconds: {
    readonly setup: number
    /** From `kubectl create lns` to all rights. */
    readonly ready: number
    /** From the edit to what it takes and gives. */
    readonly edit: number
    /** From the request to sudo, and from its end to the moment when it was gone. */
    readonly sudo: number
    readonly sudoEnd: number
    /** From the deletion to the end of all objects; null where it was left. */
    readonly delete: number | null
  }
}
