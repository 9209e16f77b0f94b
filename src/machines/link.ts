/** Opens the channel to a runner, and says our epoch: from then on the machine obeys this keeper, or a later one. */
import type { Duplex } from 'node:stream'
import type { Clock } from '../base/clock.ts'
import { Attached, RefusedByRunner, UnansweredByRunner } from '../dispatch/attached.ts'
import { Unreachable } from '../ssh/errors.ts'
import { EpochPassed } from './epoch.ts'
import type { LinkHandlers, RunnerLink, StartAnswer } from './ports.ts'

export interface LinkOptions {
  readonly stream: Duplex
  readonly clock: Clock
  readonly epoch: number
  readonly secret: string
  readonly handlers: LinkHandlers
}

/** @throws {EpochPassed} when the machine has heard a higher epoch; {Unreachable} when it says nothing, or nonsense */
export async function openLink({ stream, clock, epoch, secret, handlers }: LinkOptions): Promise<RunnerLink> {
  const ended = new AbortController()
  const attached = new Attached({
    ...{ stream, clock, secret },
    onEntry: ({ uuid, run, seq, entry }) => handlers.onEntry(uuid, run, seq, entry),
    onBeat: ({ broken }) => handlers.onBeat(broken),
    onClosed: error => ended.abort(new Unreachable(error?.message ?? 'the runner closed the channel')),
  })
  try {
    await attached.hello(epoch)
  } catch (error) {
    attached.close()
    throw translated(error)
  }
  return {
    ended: ended.signal,
    list: () => attached.list().catch(error => Promise.reject(translated(error))),
    start: (warrant, key) => attached.start(warrant, key).then(() => 'started' as const, refusalOf),
    kill: (uuid, run) => attached.kill(uuid, run).then(() => 'killing' as const, unsent),
    ack: (uuid, run, seq) => attached.ack(uuid, run, seq),
    close: () => attached.close(),
  }
}

function refusalOf(error: unknown): StartAnswer {
  if (error instanceof RefusedByRunner && error.why !== 'epoch')
    return { refused: error.why, message: error.message, end: error.end }
  throw translated(error)
}

/** A supervisor that does not answer was asked, as far as anybody can. */
function unsent(error: unknown): 'unknown' | 'killing' {
  if (error instanceof RefusedByRunner && error.why === 'unknown') return 'unknown'
  if (error instanceof RefusedByRunner && error.why === 'broken') return 'killing'
  throw translated(error)
}

function translated(error: unknown): unknown {
  if (error instanceof UnansweredByRunner) return new Unreachable(error.message)
  if (!(error instanceof RefusedByRunner)) return error
  return error.why === 'epoch' && error.highest !== undefined
    ? new EpochPassed(error.highest)
    : new Unreachable(error.message)
}
