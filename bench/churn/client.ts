/** Users who make and remove their labs without a pause. A process of its own. */
import { Agent } from 'node:http'
import { systemClock } from '../../src/base/clock.ts'
import { followLab, isAccepted, type LabRequest, sendLabRequest, type User } from '../measure/lab-client.ts'
import { tally } from '../measure/statistics.ts'
import { answerQuestions } from '../measure/worker.ts'

export interface ChurnQuestion {
  readonly url: string
  readonly users: readonly User[]
  readonly adminToken: string
  readonly seconds: number
}

export interface Churned {
  /** Labs that were complete within the time. */
  readonly made: number
  /** Creations and deletions that were accepted, by their end. */
  readonly ends: Readonly<Record<string, number>>
  /** Requests that were refused, by kind and status. */
  readonly refused: Readonly<Record<string, number>>
  readonly streamsWithGaps: number
}

/** From a refusal to the next request of this user. */
const retryMs = 250

answerQuestions(async ({ url, users, adminToken, seconds }: ChurnQuestion): Promise<Churned> => {
  const agent = new Agent({ keepAlive: true })
  const untilMs = systemClock.monotonicMs() + seconds * 1000
  const [ends, refused]: [string[], string[]] = [[], []]
  let [made, streamsWithGaps] = [0, 0]

  const done = async (request: LabRequest): Promise<boolean> => {
    const status = await sendLabRequest(request)
    if (!isAccepted(status)) {
      refused.push(`${request.kind} ${status}`)
      await systemClock.sleep(retryMs)
      return false
    }
    const { outcome, gap } = await followLab(request)
    ends.push(`${request.kind} ${outcome}`)
    if (gap) streamsWithGaps += 1
    return outcome === 'complete'
  }

  const churn = async (user: User) => {
    const common = { url, user, adminToken, agent }
    while (systemClock.monotonicMs() < untilMs) {
      if (!(await done({ ...common, kind: 'create' }))) continue
      if (systemClock.monotonicMs() <= untilMs) made += 1
      while (!(await done({ ...common, kind: 'delete' })));
    }
  }

  await Promise.all(users.map(churn))
  agent.destroy()
  return { made, ends: tally(ends), refused: tally(refused), streamsWithGaps }
})
