/** The figures of the bench `tenants`. docs/bench.md has a row for each. */
import { median, percentile, round, tally } from '../measure/statistics.ts'
import { editFigures } from './edits.ts'
import type { LoopHalf, SkylabHalf } from './halves.ts'
import type { Made } from './make.ts'

export interface Done {
  readonly pairs: { readonly skylab: SkylabHalf; readonly loop: LoopHalf }[]
  /** Halves in which replicas were killed. */
  readonly killed: SkylabHalf[]
  /** Halves in which all tenants have one sudoer. */
  readonly shared: SkylabHalf[]
}

export function report({ pairs, killed, shared }: Done, tenants: number): object {
  const ours = pairs.map(({ skylab }) => skylab)
  const ratios = pairs.map(({ skylab, loop }) => skylab.made.seconds / loop.made.seconds)
  const last = ours.at(-1)!
  const perTenantMs = (seconds: readonly number[]) => round((median(seconds) * 1000) / tenants, 1)
  return {
    seconds: secondsOf(ours),
    loop_seconds: secondsOf(pairs.map(({ loop }) => loop)),
    ratio: round(median(ratios), 2),
    ratios: ratios.map(each => round(each, 2)),
    ...(killed.length > 0 && { killed_seconds: secondsOf(killed), killed_granted_s: grantedOf(killed.at(-1)!.made) }),
    granted_s: grantedOf(last.made),
    loop_granted_s: grantedOf(pairs.at(-1)!.loop.made),
    memory_mib: memoryOf(last),
    cpu_ms_per_tenant: {
      replicas: perTenantMs(ours.map(({ cpu }) => cpu.replicas)),
      server: perTenantMs(ours.map(({ cpu }) => cpu.server)),
      server_with_loop: perTenantMs(pairs.map(({ loop }) => loop.serverSeconds)),
    },
    ...requestsOf(last, tenants),
    ...(last.edits && { edit_ms: editFigures(last.edits) }),
    ...(last.rest && { rest: last.rest }),
    ...(shared.length > 0 && { one_sudoer: sharedFigures(shared, tenants) }),
  }
}

const secondsOf = (halves: readonly { readonly made: Made }[]) => halves.map(({ made }) => round(made.seconds, 1))

const grantedOf = ({ each, asked_again }: Made) => ({
  p50: round(percentile(each, 0.5), 1),
  p99: round(percentile(each, 0.99), 1),
  asked_again,
})

const memoryOf = ({ memory }: SkylabHalf) => ({
  after: memory.map(({ nowMib }) => Math.round(nowMib)),
  at_most: memory.map(({ peakMib }) => Math.round(peakMib)),
})

function requestsOf({ requests, commands }: SkylabHalf, tenants: number) {
  const byVerb = tally(requests.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`))
  const perTenant = (counts: Readonly<Record<string, number>>) =>
    Object.fromEntries(
      Object.entries(counts)
        .map(([name, count]) => [name, round(count / tenants, 2)] as const)
        .filter(([, count]) => count >= 0.02),
    )
  return {
    requests_per_tenant: round(requests.length / tenants, 2),
    by_verb: perTenant(byVerb),
    redis_per_tenant: perTenant(commands),
  }
}

const sharedFigures = (halves: readonly SkylabHalf[], tenants: number) => ({
  seconds: secondsOf(halves),
  memory_mib: memoryOf(halves.at(-1)!),
  cpu_ms_per_tenant: round((median(halves.map(({ cpu }) => cpu.replicas)) * 1000) / tenants, 1),
  ...requestsOf(halves.at(-1)!, tenants),
})
