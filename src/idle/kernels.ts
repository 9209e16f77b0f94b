/** Activity of kernels, from a Jupyter server's `api/kernels`. Pure. */
import { asText, type JsonObject } from '../base/json.ts'
import { type AnswerText, newestOf, parseInstant, parseList } from './answers.ts'
import { busyNow, type Evidence, MalformedAnswer } from './evidence.ts'

/** States of kernels that run nothing any more. */
const goneStates = ['dead', 'terminating']

/**
 * Busy when any kernel is not idle: `busy`, `starting`, and states that are unknown to us. Otherwise the newest activity
 * of the idle ones. Without kernels it shows nothing.
 * @throws {MalformedAnswer} for an answer that shows nothing reliable
 */
export function readKernels(answer: AnswerText): Evidence {
  const kernels = parseList(answer).filter(kernel => !goneStates.includes(stateOf(kernel)))
  if (kernels.some(kernel => !['idle', ''].includes(stateOf(kernel)))) return busyNow
  if (kernels.some(kernel => stateOf(kernel) === '')) throw new MalformedAnswer('a kernel in its answer has no state')
  return newestOf(
    kernels.map(kernel => parseInstant(kernel.last_activity)),
    answer,
  )
}

const stateOf = (kernel: JsonObject): string => asText(kernel.execution_state)
