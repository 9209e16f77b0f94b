/** What the demo of idleness prints. */

export interface LabOutcome {
  readonly lab: string
  readonly does: string
  /** As REST shows it in the end. */
  readonly state: string
  readonly stopped: boolean
  /** Why it was stopped, or when it may be. */
  readonly why: string
  /** Seconds after it was left alone; null where it was not stopped. */
  readonly afterSeconds: number | null
}

/** The one JSON object of `--json`. */
export interface IdleReport {
  readonly url: string
  readonly kubeconfig: string
  readonly users: Readonly<Record<string, { readonly token: string }>>
  readonly rule: { readonly idleTimeoutSeconds: number; readonly warnSeconds: number }
  readonly labs: readonly LabOutcome[]
  readonly seconds: { readonly setup: number; readonly spawn: number; readonly watched: number }
}

export function renderOutcomes(labs: readonly LabOutcome[]): string {
  const rows = [
    ['lab', 'what it does', 'state', 'stopped', 'why'],
    ...labs.map(({ lab, does, state, stopped, why, afterSeconds }) => [
      ...[lab, does, state],
      stopped ? `after ${afterSeconds} s` : 'no',
      why,
    ]),
  ]
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows
    .map(row =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
