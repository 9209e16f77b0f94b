/** Activity of terminals, from a Jupyter server's `api/terminals`. They show input and output, not silent jobs. Pure. */
import { type AnswerText, newestOf, parseInstant, parseList } from './answers.ts'
import type { Evidence } from './evidence.ts'

/**
 * The newest activity of all terminals; without terminals it shows nothing.
 * @throws {MalformedAnswer} for an answer that shows nothing reliable
 */
export function readTerminals(answer: AnswerText): Evidence {
  return newestOf(
    parseList(answer).map(terminal => parseInstant(terminal.last_activity)),
    answer,
  )
}
