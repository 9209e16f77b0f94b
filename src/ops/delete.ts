/** The deletion of a lab (SQR-066, "DELETE …/labs/<username>"): pod, then namespace. Two requests when undisturbed. */
import { removalSteps } from './removal.ts'

export const deleteSteps = removalSteps('', 'upto', 0, 95)

/** The same for a creation that is to end failed: nothing it made is left. */
export const cleanSteps = removalSteps('clean.', 'upto', 95, 99)
