/** How soon an edit is effective: from the answer to its PATCH to the authorizer's other answer. */
import { systemClock } from '../../src/base/clock.ts'
import { objectPath } from '../../src/kube/kinds.ts'
import { tenantParent } from '../../src/tenants/words.ts'
import { percentile, round } from '../measure/statistics.ts'
import { mayWork, tenantName, userOf } from './people.ts'
import { isAllowed, untilAllowed } from './rights.ts'
import type { Site } from './site.ts'

const newcomer = 'newcomer@example.org'
/** Coprime to usual numbers of tenants, so that edits are spread over all of them. */
const stride = 37

export interface Edits {
  /** Milliseconds until the newcomer may work in a namespace, and until he may not any more. */
  readonly given: readonly number[]
  readonly taken: readonly number[]
  /** What one question takes, which is the resolution. */
  readonly question: readonly number[]
}

/** Adds a user to a tenant, and takes him away again; one edit after another. */
export async function editTenants({ kube, options }: Site, count: number): Promise<Edits> {
  const edits = { given: [] as number[], taken: [] as number[], question: [] as number[] }
  for (let turn = 0; turn < count; turn++) {
    const index = (turn * stride) % options.tenants
    const [name, question] = [tenantName(index), mayWork(newcomer, tenantName(index))]
    const edit = async (users: readonly string[], wanted: boolean) => {
      const spec = { users: users.map(user => ({ kind: 'User', name: user })) }
      const answer = await kube.request('PATCH', objectPath({ ...tenantParent, name }), { spec })
      if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${answer.body.message}`)
      const begunMs = systemClock.monotonicMs()
      await untilAllowed(kube, question, wanted, options.signal)
      return systemClock.monotonicMs() - begunMs
    }
    edits.given.push(await edit([userOf(index), newcomer], true))
    edits.taken.push(await edit([userOf(index)], false))
    const begunMs = systemClock.monotonicMs()
    await isAllowed(kube, question)
    edits.question.push(systemClock.monotonicMs() - begunMs)
  }
  return edits
}

export const editFigures = (edits: Edits): object =>
  Object.fromEntries(
    Object.entries(edits).map(([name, times]) => [
      name,
      {
        p50: round(percentile(times, 0.5), 1),
        p99: round(percentile(times, 0.99), 1),
        max: round(Math.max(...times), 1),
      },
    ]),
  )
