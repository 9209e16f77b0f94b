/** Events of labs for clients. */
import type { LabEvent } from '../../base/domain.ts'
import type { LabStore } from '../../store/labs.ts'
import type { StreamReader } from '../../store/streams.ts'
import type { EventFeed } from './service.ts'

/** Sent without an id to a client when Redis has lost the stream of its operation. */
const lost: LabEvent = { event: 'failed', data: 'The record of this operation was lost' }

export class Feeds {
  readonly #labs: Pick<LabStore, 'stream'>
  readonly #reader: StreamReader

  constructor(labs: Pick<LabStore, 'stream'>, reader: StreamReader) {
    this.#labs = labs
    this.#reader = reader
  }

  /** As `LabService.events`. */
  open(user: string, lastEventId: string | undefined, signal?: AbortSignal): Promise<EventFeed | 'ended' | null> {
    return this.#reader.open({ stream: this.#labs.stream(user), lastEventId, lost, signal })
  }
}
