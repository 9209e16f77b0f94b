/** Why an image could not be pulled, read from what kubelets and container runtimes write. Pure. */

import { cleanWords } from '../../base/text.ts'
import type { StartVerdict } from './facts.ts'

/** Container states in which an image is missing. Their message may be silent about the cause. */
export const pullReasons = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ImageInspectError',
  'RegistryUnavailable',
  'InvalidImageName',
  'ErrImageNeverPull',
  'SignatureValidationFailed',
])

/** Reasons that need no message to be final. */
const finalReasons: Readonly<Record<string, string>> = {
  InvalidImageName: 'its name is not valid',
  ErrImageNeverPull: 'it is not on the node, and pulling it is not allowed',
  SignatureValidationFailed: 'its signature is not valid',
}

/**
 * Answers that another try will not change. The text is anchored to how runtimes end or introduce them: an image may be
 * called "denied", and a registry in trouble may mention what was not found.
 */
const finalCauses: readonly [RegExp, string][] = [
  [/no match for platform/i, 'it does not exist for the kind of machine that labs run on'],
  [/invalid reference format|couldn'?t parse image (name|reference)/i, 'its name is not valid'],
  [
    /manifest[ _]unknown|name[ _]unknown|manifest for \S+ not found|code = NotFound|: not found("|\.|,|\s*$)|: 404 not found/i,
    'it does not exist',
  ],
  [
    /: 40[13] (unauthorized|forbidden)|\bunauthorized: |unauthorized\s*$|access denied|(?<!permission )\bdenied: |(: |is )denied\b|authorization failed|insufficient_scope|authentication required/i,
    'the registry denies access to it',
  ],
]

/** What surely passes, or is of the network: it outweighs the rest of the message. */
const passingCause =
  /i\/o timeout|timed? ?out|deadline exceeded|connection (refused|reset)|no such host|no route to host|network is unreachable|temporary failure|toomanyrequests|too many requests|: 5\d\d [a-z]|unexpected EOF/i

/**
 * Told by a kubelet that pulls without a pull secret which the pod names. It reads each Secret by a watch of its own, which
 * begins with the pod, and waits a second for it. That does not always do: the API server shows a node only the Secrets of
 * pods that it knows to be there, which it learns later than the kubelet learns of the pod, and may answer the first
 * question from before the Secret was made. No order of writes rules that out. By the next attempt, 10 s later, it is there.
 */
export const secretMissed = 'FailedToRetrieveImagePullSecret'

export interface PullTrial {
  /** What users know the image as. */
  readonly image?: string
  /** Whether a pull secret was not at hand: who asks without it may be denied what there is. */
  readonly withoutSecret?: boolean
}

/**
 * The verdict on a container that waits because of its image.
 * @param cause the fullest message there is
 */
export function judgePull(reason: string, cause: string, trial: PullTrial = {}): StartVerdict {
  const { image = 'The image', withoutSecret = false } = trial
  const why = finalReasons[reason] ?? (withoutSecret ? undefined : finalCauseOf(cause))
  if (why) return { kind: 'doomed', message: quoting(`${image} cannot be pulled: ${why}`, cause) }
  return { kind: 'troubled', cause: 'registry', message: quoting(`${image} could not be pulled yet`, cause) }
}

/** Whether a message says why, or only that the kubelet waits before it tries again. */
export function tellsCause(message: string): boolean {
  return message !== '' && !/^Back-off pulling image "[^"]*"\.?$/.test(message)
}

function finalCauseOf(cause: string): string | undefined {
  if (passingCause.test(cause)) return undefined
  return finalCauses.find(([form]) => form.test(cause))?.[1]
}

function quoting(words: string, cause: string): string {
  return cause ? `${words} (${cleanWords(cause)})` : words
}
