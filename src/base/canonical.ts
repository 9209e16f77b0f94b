/** One text for one JSON value. Pure. */
import { configure } from 'safe-stable-stringify'

const stringify = configure({ deterministic: true, circularValue: Error })

/** JSON whose fields are in the order of their names, so that equal values have equal texts. `null` for undefined. */
export const canonical = (value: unknown): string => stringify(value) ?? 'null'
