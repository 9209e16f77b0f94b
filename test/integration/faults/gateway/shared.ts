/** The site of all attacks on gateways: two of them, on one Redis. */
import { GatewaySite } from '../../../kit/gateway/site.ts'

let started: Promise<GatewaySite> | undefined

export function sharedSite(): Promise<GatewaySite> {
  // One person opens them all.
  started ??= GatewaySite.start({
    gateways: 2,
    config: { gateway: { limits: { requestsPerUser: 1000, socketsPerUser: 1000 } } },
  })
  return started
}

export async function stopSharedSite(): Promise<void> {
  await (await started)?.stop()
}

/** In their whole size. */
export const isWhole = process.env.SKYLAB_FAULTS === 'all'

/** Requests that both gateways have refused so far. */
export async function refusals(site: GatewaySite): Promise<number> {
  let sum = 0
  for (const gateway of site.gateways.keys()) sum += await site.metricSum('skylab_gateway_refusals_total', gateway)
  return sum
}
