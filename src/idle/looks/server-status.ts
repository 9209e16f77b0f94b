/** Activity of a Jupyter server as a whole, from its `api/status`. An open tab counts as activity there. Pure. */
import { asObject } from '../../base/json.ts'
import { type AnswerText, newestOf, parseInstant, parseJson } from './answers.ts'
import type { Evidence } from './evidence.ts'

/** @throws {MalformedAnswer} for an answer without the time of its last activity */
export function readServerStatus(answer: AnswerText): Evidence {
  return newestOf([parseInstant(asObject(parseJson(answer)).last_activity)], answer)
}
