/** Replicas that are stopped at a write, and wake when the parent is another one: common parts of these attacks. */
import { systemClock } from '../../../src/base/clock.ts'
import type { Trial } from '../../kit/attack/attack.ts'
import type { Arm } from '../../kit/failpoints/failpoint-arms.ts'

/** Limit for anything wrong after a late write has landed. */
const wrongLimitMs = 1_000
/** A replica that died with the answer may have taken the lease again: no other one gives anything before it lapses. */
const lapseMs = 4_000
const sendLimitMs = 5_000
/** Limit for one late write until it is sent. */
const maxAttempts = 3

export interface LateStory {
  /** A failpoint, without its beginning. */
  readonly point: string
  /** The fate of the parent while the replica is stopped. */
  readonly story: 'edited' | 'deleted' | 'made again'
  /** The replica dies with the answer of its late write, so only others can correct it. */
  readonly dies?: boolean
  /** It wakes before others have made the parent's change so: only rights are judged then. */
  readonly soon?: boolean
}

export const storyWords = ({ point, story, dies, soon }: LateStory): string =>
  [point, `parent ${story}`, dies && 'dies', soon && 'soon'].filter(Boolean).join(', ')

/** Faults that are there at a time. */
export interface Faults {
  /** A right that somebody should not have. */
  readonly excess: string | undefined
  /** Any fault. */
  readonly wrong: string | undefined
}

export interface Watched {
  /** The longest time of a right that nobody should have. */
  readonly excessMs: number
  /** The longest time of any fault. */
  readonly wrongMs: number
  /** The fault that is found in the end. */
  readonly left: string | undefined
  /** The last fault that was seen. */
  readonly what: string | undefined
}

/** Watches until nothing is wrong, and for `atLeastMs`. */
export async function watchFaults(
  find: () => Promise<Faults>,
  { limitMs, atLeastMs }: { readonly limitMs: number; readonly atLeastMs: number },
): Promise<Watched> {
  const begunMs = performance.now()
  const since: Record<keyof Faults, number | undefined> = { excess: undefined, wrong: undefined }
  const longest = { excess: 0, wrong: 0 }
  let what: string | undefined
  for (let nowMs = begunMs; ; nowMs = performance.now()) {
    const found = await find()
    for (const kind of ['excess', 'wrong'] as const) {
      since[kind] = found[kind] === undefined ? undefined : (since[kind] ?? nowMs)
      if (since[kind] !== undefined) longest[kind] = Math.max(longest[kind], performance.now() - since[kind])
    }
    what = found.excess ?? found.wrong ?? what
    const spentMs = performance.now() - begunMs
    if (spentMs > limitMs || (spentMs > atLeastMs && found.wrong === undefined)) {
      return { excessMs: longest.excess, wrongMs: longest.wrong, left: found.wrong, what }
    }
    await systemClock.sleep(20)
  }
}

/** Judges by what was seen after the late write was sent. */
export function judgeLate(trial: Trial, words: string, { story, dies, soon }: LateStory, seen: Watched): void {
  const { excessMs, wrongMs, left, what } = seen
  if (left !== undefined) trial.violation(`${words}: ${left}, and it stays`)
  if (story === 'deleted') return
  trial.took(excessMs)
  const limitMs = dies ? lapseMs + wrongLimitMs : wrongLimitMs
  if (excessMs > wrongLimitMs) trial.violation(`${words}: ${what}, wrong for ${Math.round(excessMs)} ms`)
  else if (!soon && wrongMs > limitMs) trial.violation(`${words}: ${what}, wrong for ${Math.round(wrongMs)} ms`)
}

/** A write that goes over what came later would undo it. A creation cannot. */
export const isOverwriting = ({ point, soon }: LateStory): boolean =>
  point.endsWith('before-send') && !point.startsWith('create') && !soon

/** The request at a point such as `change.RoleBinding.before-send`. */
export function writeAt(point: string): { readonly verb: string; readonly resource: string } {
  const [act, kind] = point.split('.') as [string, string]
  const verbs: Readonly<Record<string, string>> = { create: 'create', remove: 'delete' }
  return { verb: verbs[act] ?? 'patch', resource: `${kind.toLowerCase()}s` }
}

/** Whether the late write is answered. It is not sent after the time of its turn, nor where it needs a new connection. */
export const isSent = (answered: Arm): Promise<boolean> =>
  answered.landed(1, sendLimitMs).then(
    () => true,
    () => false,
  )

/**
 * Tries a blow until its write is sent, a few times.
 * @param strike undefined if it was not
 * @returns what it found, and how often the write was not sent
 */
export async function struck<T>(
  trial: Trial,
  strike: (attempt: number) => Promise<T | undefined>,
): Promise<{ readonly found: T | undefined; readonly unsent: number }> {
  trial.injected()
  let found: T | undefined
  let unsent = 0
  for (let attempt = 0; found === undefined && attempt < maxAttempts; attempt += 1) {
    found = await strike(attempt)
    if (found === undefined) unsent += 1
  }
  if (found !== undefined) trial.landed()
  return { found, unsent }
}
