/** Output of the demo of apps: what was tried, and what came of it. */
import type { Name } from './people.ts'
import type { Person } from './site.ts'

/** One thing that somebody did, and what was seen. */
export interface Verdict {
  readonly step: string
  readonly saw: string
  /** From the deed to what was seen; null where it is nothing to wait for. */
  readonly seconds: number | null
}

export interface ShownApp {
  readonly id: string
  readonly phase: string
  readonly scope: string
  readonly url: string
}

/** The one JSON object of `--json`. */
export interface AppsReport {
  /** Of the balancer, for browsers. */
  readonly url: string
  /** Of the controllers' balancer, for programs. */
  readonly rest: string
  /** Where people log in, and how often it gave tokens: by a code at a login, by a refresh token for each recheck. */
  readonly provider: { readonly url: string; readonly grants: Readonly<Record<string, number>> }
  /** Path of the certificate of its authority. */
  readonly authority: string
  /** An administrator's. */
  readonly kubeconfig: string
  readonly people: Readonly<Record<Name, Person>>
  readonly apps: readonly ShownApp[]
  /** All as declared: the first that is not ends the demo with its words, and exit code 1. */
  readonly verdicts: readonly Verdict[]
  readonly seconds: { readonly setup: number; readonly ready: number; readonly story: number }
}
