/** What is wrong with the machines of Arvados' chaos (`TestDispatchToStubDriver`). */
import type { Entry } from '../../src/dispatch/protocol.ts'
import type { Troubles } from '../keepers/played.ts'

/** Part of the containers whose supervisor crashes, half of them before they run; and of those that leave a lock behind. */
const crashShare = 0.1
const deadlockShare = 0.1

export interface Pace {
  /** Milliseconds of ours for one of theirs. */
  readonly scale: number
  /** TimeoutBooting. */
  readonly bootingMs: number
}

export function troublesOf({ scale, bootingMs }: Pace): (number: number, providerType: string) => Troubles {
  let firstFourMs: number | undefined
  const upTo = (theirMs: number) => Math.random() * theirMs * scale
  return (number, providerType) => {
    const now = performance.now()
    const bootedMs = now + upTo(5)
    const isBooting = () => performance.now() < bootedMs
    if (providerType === 'type4') firstFourMs ??= now
    // All of this type at first, so that boots fail.
    if (providerType === 'type4' && now < firstFourMs! + 2 * bootingMs) return { refuses: () => 2 }
    const silentMs = number % 7 === 0 ? now + upTo(90) : Number.POSITIVE_INFINITY
    const lacksRunner = number % 7 === 1
    const brokenMs = number % 7 === 2 ? now + upTo(200) : Number.POSITIVE_INFINITY
    const isHealthy = number % 7 > 2
    let isLocked = false
    return {
      refuses: command => {
        if (isBooting() && !command.startsWith('cat ')) return 1
        return lacksRunner && command.includes('skylab') ? 127 : undefined
      },
      isSilent: () => performance.now() > silentMs,
      broken: () => {
        if (performance.now() > brokenMs) return 'it says so'
        return isLocked ? 'a lock is held' : undefined
      },
      course: () => {
        isLocked ||= isHealthy && Math.random() < deadlockShare
        return courseOf(isHealthy ? Math.random() / crashShare : 2, upTo)
      },
    }
  }
}

/** @param luck below 1 its supervisor crashes, below a half before it runs */
function courseOf(luck: number, upTo: (theirMs: number) => number) {
  const at = Date.now()
  const running: Entry = { kind: 'running', atMs: at }
  const crashed: Entry = { kind: 'ended', atMs: at, end: { reason: 'the supervisor was lost' } }
  const ended: Entry = { kind: 'ended', atMs: at, end: { exitCode: Math.floor(Math.random() * 4) } }
  const begins = { afterMs: upTo(10) + upTo(20), entry: running }
  if (luck < 0.5) return [{ ...begins, entry: crashed }]
  return [begins, { afterMs: upTo(20), entry: luck < 1 ? crashed : ended }]
}
