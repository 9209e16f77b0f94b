/** How long a change of an app's scope takes until every gateway refuses who may no longer go there. */
import { request } from 'node:http'
import { appPrefix } from '../../src/apps/names.ts'
import { appParent } from '../../src/apps/words.ts'
import { systemClock } from '../../src/base/clock.ts'
import { creationPath, objectPath } from '../../src/kube/kinds.ts'
import { application } from '../../test/kit/apps/objects.ts'
import { percentile, round } from '../measure/statistics.ts'
import { group, type Site } from './site.ts'

const gateways = 2
/** Between two requests of a visitor to a gateway. */
const askMs = 5
/** A change that takes longer is a failure of the bench. */
const limitMs = 30_000

/**
 * Makes public apps beside those that are there, and closes one after another while visitors without a login ask each
 * gateway all the time. The apps are stopped: their visitors get a page of the gateway, and no pod is needed.
 */
export async function scopeFigures(site: Site, count: number): Promise<object> {
  const origins = await site.startGateways(gateways)
  const names = Array.from({ length: count }, (_, index) => `open-${String(index).padStart(4, '0')}`)
  const apps = creationPath(appParent.apiVersion, appParent.kind, group)
  for (const name of names) await must(site, 'POST', apps, application(group, name, { stop: true, scope: 'public' }))
  for (const name of names) await Promise.all(origins.map(origin => until(origin, name, 503, site.options.signal)))
  const ms: number[] = []
  for (const name of names) {
    const begunMs = systemClock.monotonicMs()
    const seen = origins.map(async origin => {
      await until(origin, name, 401, site.options.signal)
      return systemClock.monotonicMs() - begunMs
    })
    const path = objectPath({ ...appParent, namespace: group, name })
    await must(site, 'PATCH', path, { spec: { scope: 'group' } })
    ms.push(Math.max(...(await Promise.all(seen))))
  }
  const at = (share: number) => round(percentile(ms, share), 0)
  return { gateways, changes: count, p50_ms: at(0.5), p99_ms: at(0.99), longest_ms: round(Math.max(...ms), 0) }
}

async function until(origin: string, name: string, status: number, signal: AbortSignal): Promise<void> {
  const endMs = systemClock.monotonicMs() + limitMs
  for (;;) {
    const found = await statusOf(`${origin}${appPrefix(name)}/`)
    if (found === status) return
    if (systemClock.monotonicMs() > endMs) throw new Error(`${name} answers ${found}, not ${status}`)
    await systemClock.sleep(askMs, signal)
  }
}

function statusOf(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { agent: false }, answer => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode!))
    })
    asking.once('error', reject)
    asking.end()
  })
}

async function must({ kube }: Site, method: string, path: string, body: object): Promise<void> {
  const { status, body: answer } = await kube.request(method, path, body)
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${answer.message}`)
}
