/** Lab and app are left alone: their people are warned, and the idle engine of each process stops what it serves. */
import { systemClock } from '../../src/base/clock.ts'
import type { WorkloadView } from '../../src/idle/rest/service.ts'
import { roundSeconds } from '../demo/say.ts'
import { ActivityClient } from '../idle/client.ts'
import { quietLab } from '../idle/place.ts'
import { waitUntil } from '../process/api-client.ts'
import type { Left } from './report.ts'
import type { AllSite } from './site.ts'

/** Against hanging, not for speed. */
const limitMs = 150_000

export interface LeftAlone {
  readonly site: AllSite
  readonly names: { readonly lab: string; readonly app: string; readonly namespace: string }
  readonly tell: (text: string) => void
  readonly signal: AbortSignal
}

/** What is asked of one that was left alone. */
interface Watched {
  readonly workload: Left['workload']
  readonly name: string
  /** What its process knows of its use. */
  readonly look: () => Promise<WorkloadView>
  readonly isGone: () => Promise<boolean>
}

/** Tells each state as it comes, and resolves when both are stopped. */
export const untilStopped = (alone: LeftAlone): Promise<readonly Left[]> =>
  Promise.all([labOf(alone), appOf(alone)].map(watched => watchOne(alone, watched)))

function labOf({ site, names, signal }: LeftAlone): Watched {
  const { stack } = site
  const client = new ActivityClient({ url: stack.url, token: stack.users.admin!.token, signal })
  const { admin } = quietLab(site, names.lab, signal)
  const isGone = async () => (await admin.status(names.lab)) === null
  return { workload: 'lab', name: names.lab, look: () => client.find(names.lab), isGone }
}

/** As grace, who is a member. */
function appOf({ site, names, signal }: LeftAlone): Watched {
  const { apps, people, kubectl } = site
  const path = `/apps/v1/apps/${names.app}/activity`
  const look = async () => {
    const headers = { authorization: `Bearer ${people.grace.token}` }
    const answer = await fetch(`${apps.controller.url}${path}`, { headers, signal })
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as WorkloadView
  }
  const phase = ['get', 'phapplication', names.app, '-n', names.namespace, '-o', 'jsonpath={.status.phase}']
  const isGone = async () => (await kubectl(phase)).trim() === 'Stopped'
  return { workload: 'app', name: names.app, look, isGone }
}

async function watchOne({ tell, signal }: LeftAlone, { workload, name, look, isGone }: Watched): Promise<Left> {
  const begunMs = systemClock.monotonicMs()
  const since = () => roundSeconds(systemClock.monotonicMs() - begunMs)
  const states = new Set<string>()
  let last = 'nobody answers'
  let why = ''
  const isStopped = async () => {
    const view = await look().catch(error => {
      last = (error as Error).message
      throw error
    })
    last = JSON.stringify(view)
    if (!states.has(view.state)) tell(`  ${String(since()).padStart(6)} s  the ${workload} ${name} is ${view.state}`)
    states.add(view.state)
    why = view.stopped?.why ?? ''
    return view.state === 'stopped'
  }
  await waitUntil(isStopped, { what: `the end of the ${workload}`, limitMs, signal }).catch(error => {
    throw new Error(`${(error as Error).message}: ${last}`)
  })
  await waitUntil(isGone, { what: `a ${workload} that is gone`, limitMs, signal })
  return { workload, warned: states.has('warned'), stopped: true, why, afterSeconds: since() }
}
