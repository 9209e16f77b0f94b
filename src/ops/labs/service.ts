/** What the API asks of the engine: the operations of SQR-066 on labs, free of HTTP. */
import type { CreateRequest, Identity, LabEvent, LabState } from '../../base/domain.ts'
import type { Feed } from '../../store/streams.ts'
import type { Origin } from '../../telemetry/tracing.ts'

/** A client's place in one operation's events. A stream that Redis lost ends with a `failed` event without id. */
export type EventFeed = Feed<LabEvent>

export interface LabService {
  /**
   * Accepts the creation of a lab (SQR-066, "POST …/create"); returns once nothing can lose it. With an idempotency key,
   * a repeat within ten minutes gets the first one's answer. Whoever owns the operation logs and traces by its origin.
   * @returns 'repeated' where nothing was accepted now, since an earlier one had the same key
   * @throws {ApiError} 403, 409, 422 or 503 as the table of docs/api.md says
   */
  create(
    caller: Identity,
    request: CreateRequest,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<'repeated' | undefined>

  /** Whether a create of this user with this key was accepted within ten minutes. */
  remembers(username: string, idempotencyKey: string): Promise<boolean>

  /**
   * Accepts the deletion of a lab (SQR-066, "DELETE …/labs/<username>"), superseding a creation, joining a deletion.
   * @returns false when there is no lab
   */
  delete(username: string, origin: Origin): Promise<boolean>

  /** The lab of a user (SQR-066, "GET …/labs/<username>"), or null. */
  status(username: string): Promise<LabState | null>

  /** Names of all users whose lab is running, sorted (SQR-066, "GET …/labs"). */
  running(): Promise<string[]>

  /**
   * The events of a user's current operation, or of the one that `lastEventId` names, after it.
   * @returns null when there is no stream (404); 'ended' when a client that has them all should stop asking (204)
   * @throws {ApiError} 400 when the id is malformed
   */
  events(username: string, lastEventId?: string): Promise<EventFeed | 'ended' | null>
}
