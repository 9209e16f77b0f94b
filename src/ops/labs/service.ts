/** The engine's interface to the API: the operations of SQR-066 on labs, without HTTP. */
import type { CreateRequest, Identity, LabEvent, LabState } from '../../base/domain.ts'
import type { Feed } from '../../store/streams.ts'
import type { Origin } from '../../telemetry/tracing.ts'

/** A client's place in one operation's events. A stream that Redis lost ends with a `failed` event without id. */
export type EventFeed = Feed<LabEvent>

export interface LabService {
  /** A create or delete of a known user is being read. Work that can wait lets a crowd of them pass. */
  announce(): void

  /**
   * Accepts the creation of a lab (SQR-066, "POST …/create"), and returns once it cannot be lost. With an idempotency key,
   * a repeat within ten minutes gets the first one's answer. The operation's owner uses the origin in its logs and traces.
   * @returns 'repeated' if an earlier request had the same key, so that nothing was accepted now
   * @throws {ApiError} 403, 409, 422 or 503 according to the table of docs/api.md
   */
  create(
    caller: Identity,
    request: CreateRequest,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<'repeated' | undefined>

  /** True if a create of this user with this key was accepted within the last ten minutes. */
  remembers(username: string, idempotencyKey: string): Promise<boolean>

  /**
   * Accepts the deletion of a lab (SQR-066, "DELETE …/labs/<username>"). It supersedes a creation, and joins a deletion.
   * @returns false when there is no lab
   */
  delete(username: string, origin: Origin): Promise<boolean>

  /** The lab of a user (SQR-066, "GET …/labs/<username>"), or null. */
  status(username: string): Promise<LabState | null>

  /** Names of all users whose lab is running, sorted (SQR-066, "GET …/labs"). */
  running(): Promise<string[]>

  /**
   * The events of a user's current operation, or those after `lastEventId` of the operation that it names.
   * @returns null when there is no stream (404); 'ended' when the client has all events and should stop asking (204)
   * @param signal aborted when the client leaves: it then waits for its turn no longer
   * @throws {ApiError} 400 when the id is malformed
   * @throws the signal's reason when it is aborted
   */
  events(username: string, lastEventId?: string, signal?: AbortSignal): Promise<EventFeed | 'ended' | null>
}
