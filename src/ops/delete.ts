/** The deletion of a lab (SQR-066, "DELETE …/labs/<username>"): pod, then namespace. Two requests when undisturbed. */
import type { LabStep } from './lab-context.ts'
import { removalSteps } from './removal.ts'
import { stampStep } from './stamp.ts'

export const deleteSteps = removalSteps('', 'ownAndOlder', 0, 95)

/** The same steps for a creation that failed: they remove all its objects. */
export const cleanSteps = removalSteps('clean.', 'ownAndOlder', 95, 99)

/** The same steps for a lab that nobody used: its pod is stamped first. */
export const cullSteps = (culledMs: number): readonly LabStep[] => [stampStep(culledMs), ...deleteSteps]
