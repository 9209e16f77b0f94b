/** Apart from Schemathesis' findings: what replicas counted and logged while they were asked. Pure. */

/** The result of a run. */
export interface Verdict {
  readonly ok: boolean
  /** Number of answers by status, as the replicas counted them. */
  readonly answers: Readonly<Record<string, number>>
  /** Number of internal errors in the replicas' logs. */
  readonly faults: number
}

export interface Told {
  /** A replica's metrics, as it serves them. */
  readonly metrics: string
  readonly log: string
}

/**
 * 500 is a fault of ours, as `skylab_http_faults_total` counts it. 501, 502 and 504 are about the program in a container; the
 * document must have them.
 * @param code the exit code of Schemathesis
 */
export function verdictOf(code: number, replicas: readonly Told[]): Verdict {
  const answers: Record<string, number> = {}
  let faults = 0
  for (const { metrics, log } of replicas) {
    for (const [, status, count] of metrics.matchAll(
      /^skylab_http_request_duration_seconds_count\{.*status="(\d+)".*\} (\d+)/gm,
    ))
      answers[status!] = (answers[status!] ?? 0) + Number(count)
    faults += log.split('\n').filter(line => /"level":"(error|fatal)"/.test(line)).length
  }
  return { ok: code === 0 && faults === 0 && !answers['500'], answers, faults }
}
