/** The deletion of a lab (SQR-066, "DELETE …/labs/<username>"): pod, then namespace. Two requests when undisturbed. */
import { removalSteps } from './removal.ts'

export const deleteSteps = removalSteps('', 'ownAndOlder', 0, 95)

/** The same steps for a creation that failed: they remove all its objects. */
export const cleanSteps = removalSteps('clean.', 'ownAndOlder', 95, 99)
