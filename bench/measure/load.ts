/** The load: requests labs as that many users would, and follows each to its end. A process of its own. */
import { Agent } from 'node:http'
import { systemClock } from '../../src/base/clock.ts'
import { followLab, isAccepted, sendLabRequest, type User } from './lab-client.ts'
import { answerQuestions } from './worker.ts'

export interface Load {
  readonly kind: 'create' | 'delete'
  /** URL of the balancer. */
  readonly url: string
  readonly users: readonly User[]
  /** The administrator's token, which deletes. */
  readonly adminToken: string
  /** Whether to read the events of each lab to the last one; if not, only the acceptance is measured. */
  readonly follow: boolean
  /** Rate of requests, regardless of responses. Default: all at once. */
  readonly perSecond?: number | undefined
}

export interface LoadResult {
  /** From the first request to the last response or event. */
  readonly seconds: number
  /** From the due time of each request. */
  readonly acceptMs: readonly number[]
  readonly endedMs: readonly number[]
  /** The last event of each lab, or the status of a refusal. */
  readonly outcomes: readonly string[]
  readonly streamsWithGaps: number
}

answerQuestions(async (load: Load): Promise<LoadResult> => {
  const agent = new Agent({ keepAlive: true })
  const begunMs = systemClock.monotonicMs()
  const results = await Promise.all(
    load.users.map(async (user, index) => {
      const dueMs = load.perSecond === undefined ? begunMs : begunMs + (1000 * index) / load.perSecond
      if (dueMs > begunMs) await systemClock.sleep(dueMs - systemClock.monotonicMs())
      return one(load, user, agent, dueMs)
    }),
  )
  agent.destroy()
  return {
    seconds: (systemClock.monotonicMs() - begunMs) / 1000,
    acceptMs: results.map(({ acceptMs }) => acceptMs),
    endedMs: results.map(({ endedMs }) => endedMs),
    outcomes: results.map(({ outcome }) => outcome),
    streamsWithGaps: results.filter(({ gap }) => gap).length,
  }
})

async function one({ follow, ...load }: Load, user: User, agent: Agent, dueMs: number) {
  const status = await sendLabRequest({ ...load, user, agent })
  const acceptMs = systemClock.monotonicMs() - dueMs
  const following = follow && isAccepted(status)
  const end = following ? await followLab({ ...load, user, agent }) : { outcome: String(status), gap: false }
  return { acceptMs, endedMs: systemClock.monotonicMs() - dueMs, ...end }
}
