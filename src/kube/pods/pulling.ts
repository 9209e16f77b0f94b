/** Reads from messages of kubelets and container runtimes why an image could not be pulled. Pure. */

import { cleanWords } from '../../base/text.ts'
import type { StartVerdict } from './facts.ts'

/** Container states in which an image is missing. Their message may lack the cause. */
export const pullReasons = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ImageInspectError',
  'RegistryUnavailable',
  'InvalidImageName',
  'ErrImageNeverPull',
  'SignatureValidationFailed',
])

/** Reasons that are final without a message. */
const finalReasons: Readonly<Record<string, string>> = {
  InvalidImageName: 'its name is not valid',
  ErrImageNeverPull: 'it is not on the node, and pulling it is not allowed',
  SignatureValidationFailed: 'its signature is not valid',
}

/**
 * Answers that a retry will not change. Each pattern is anchored to the words around it: an image may be called
 * "denied", and a registry in trouble may mention something that was not found.
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

/** Causes that will pass, or are of the network; they take precedence over the rest of the message. */
const passingCause =
  /i\/o timeout|timed? ?out|deadline exceeded|connection (refused|reset)|no such host|no route to host|network is unreachable|temporary failure|toomanyrequests|too many requests|: 5\d\d [a-z]|unexpected EOF/i

/**
 * The event of a kubelet that pulls without a pull secret which the pod names. The kubelet reads each Secret by a watch
 * that begins with the pod, and waits a second for it. This may fail: the API server shows a node only the Secrets of
 * pods that it knows to be on the node, which it learns later than the kubelet learns of the pod, and its first answer
 * may predate the Secret. No order of writes prevents that. At the next attempt, 10 s later, the Secret is there.
 */
export const secretMissed = 'FailedToRetrieveImagePullSecret'

export interface PullTrial {
  /** The name of the image in messages to users. */
  readonly image?: string
  /** Whether a pull secret was missing: without it, the registry may deny access to an image that exists. */
  readonly withoutSecret?: boolean
}

/**
 * The verdict on a container that waits because of its image.
 * @param cause the most complete message
 */
export function judgePull(reason: string, cause: string, trial: PullTrial = {}): StartVerdict {
  const { image = 'The image', withoutSecret = false } = trial
  const why = finalReasons[reason] ?? (withoutSecret ? undefined : finalCauseOf(cause))
  if (why) return { kind: 'doomed', message: quoting(`${image} cannot be pulled: ${why}`, cause) }
  return { kind: 'troubled', cause: 'registry', message: quoting(`${image} could not be pulled yet`, cause) }
}

/** Whether a message names a cause, and not only that the kubelet waits before its next attempt. */
export function hasCause(message: string): boolean {
  return message !== '' && !/^Back-off pulling image "[^"]*"\.?$/.test(message)
}

function finalCauseOf(cause: string): string | undefined {
  if (passingCause.test(cause)) return undefined
  return finalCauses.find(([form]) => form.test(cause))?.[1]
}

function quoting(words: string, cause: string): string {
  return cause ? `${words} (${cleanWords(cause)})` : words
}
