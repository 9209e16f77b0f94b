/** Activity of kernels, from a Jupyter server's `api/kernels`. Pure. */
import { asText, type JsonObject } from '../../base/json.ts'
import { type AnswerText, newestOf, parseInstant, parseList } from './answers.ts'
import { busyNow, type Evidence, MalformedAnswer } from './evidence.ts'

/** States of kernels that run nothing any more. */
const goneStates = ['dead', 'terminating']

/** A kernel that starts for longer has hung: no kernel takes so long, and nobody waits for it any more. */
const longestStartMs = 600_000

/**
 * Busy when any kernel is not idle: `busy`, `starting`, and states that are unknown to us. Otherwise the newest activity
 * of the idle ones. One that is `starting` for long counts as idle since its last activity. Without kernels it shows nothing.
 * @throws {MalformedAnswer} for an answer that shows nothing reliable
 */
export function readKernels(answer: AnswerText): Evidence {
  const kernels = parseList(answer).filter(kernel => !goneStates.includes(stateOf(kernel)))
  if (kernels.some(kernel => !['idle', 'starting', ''].includes(stateOf(kernel)))) return busyNow
  const starting = kernels.filter(kernel => stateOf(kernel) === 'starting')
  if (starting.some(kernel => isYoung(kernel, answer))) return busyNow
  if (kernels.some(kernel => stateOf(kernel) === '')) throw new MalformedAnswer('a kernel in its answer has no state')
  return newestOf(
    kernels.map(kernel => parseInstant(kernel.last_activity)),
    answer,
  )
}

const isYoung = ({ last_activity }: JsonObject, answer: AnswerText): boolean =>
  newestOf([parseInstant(last_activity)], answer).ageMs! <= longestStartMs

const stateOf = (kernel: JsonObject): string => asText(kernel.execution_state)
