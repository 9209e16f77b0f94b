/** What the demo of idleness prints, and what it demands. */
import { people } from './people.ts'
import type { HubPlace, HubView } from './place.ts'

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
  /** Null without a Hub. */
  readonly hub: HubView | null
}

/** The one JSON object of `--json`. */
export interface IdleReport {
  readonly url: string
  readonly kubeconfig: string
  /** Null without a Hub. */
  readonly hub: Pick<HubPlace, 'url' | 'logs'> | null
  readonly users: Readonly<Record<string, { readonly token: string }>>
  readonly rule: { readonly idleTimeoutSeconds: number; readonly warnSeconds: number }
  readonly labs: readonly LabOutcome[]
  readonly seconds: { readonly setup: number; readonly spawn: number; readonly watched: number }
}

/** A table, and with a Hub what its lab form says. */
export function renderOutcomes(labs: readonly LabOutcome[]): string {
  const hasHub = labs.some(({ hub }) => hub !== null)
  const rows = [
    ['lab', 'what it does', 'state', ...(hasHub ? ['at the Hub'] : []), 'stopped', 'why'],
    ...labs.map(({ lab, does, state, stopped, why, afterSeconds, hub }) => [
      ...[lab, does, state],
      ...(hasHub ? [hubCell(hub)] : []),
      stopped ? `after ${afterSeconds} s` : 'no',
      why,
    ]),
  ]
  const forms = labs.flatMap(({ lab, hub }) => (hub?.form ? [`The lab form of ${lab} says: ${hub.form}`] : []))
  return [table(rows), ...(forms.length > 0 ? ['', ...forms] : [])].join('\n')
}

const hubCell = (hub: HubView | null): string =>
  hub === null ? '' : `${hub.state}${hub.poll === null ? '' : `, poll ${hub.poll}`}`

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  const line = (row: readonly string[]) => row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')
  return rows.map(row => line(row).trimEnd()).join('\n')
}

/** Fails where a lab was stopped that must not be, or the other way round, and where the Hub tells something else. */
export function requireOutcomes(labs: readonly LabOutcome[]): void {
  for (const { lab, stopped, why, hub } of labs) {
    const { isStopped, isIdle } = people.find(({ name }) => name === lab)!
    if (stopped !== isStopped) throw new Error(`the lab of ${lab} was ${stopped ? '' : 'not '}stopped`)
    if (hub === null || !stopped) continue
    if (hub.poll !== 0) throw new Error(`the Hub was not told by poll 0 that the lab of ${lab} is gone`)
    if (isIdle !== (hub.form !== null)) throw new Error(`the lab form of ${lab} says: ${hub.form}`)
    if (isIdle && !hub.form!.includes(why)) throw new Error(`the lab form of ${lab} does not say "${why}": ${hub.form}`)
  }
}
