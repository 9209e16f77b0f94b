/** REST of tenants as people call it: with a token, at one of several replicas. */
import type { Identity } from '../../../src/base/domain.ts'
import { callRest as call, followRest, type RestAnswer, type RestRequest } from '../../kit/api/rest-calls.ts'

export { tokensOf } from '../../kit/api/rest-calls.ts'

/** Calls a route under /tenants/v1. */
export const callRest = (
  url: string,
  method: string,
  path: string,
  who: Identity['username'] | undefined,
  request?: RestRequest,
): Promise<RestAnswer> => call(`${url}/tenants/v1${path}`, method, who, request)

export interface StreamedEvent {
  readonly id: string | undefined
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly data: any
}

/** Reads the events of a tenant until one of them is as wished. */
export async function follow(
  url: string,
  name: string,
  who: string,
  isLast: (event: StreamedEvent) => boolean,
  lastEventId?: string,
): Promise<StreamedEvent[]> {
  const parsed = ({ id, event, data }: { id: string | undefined; event: string; data: string }) => ({
    ...{ id, event, data: JSON.parse(data) },
  })
  const events = await followRest(`${url}/tenants/v1/${name}/events`, who, each => isLast(parsed(each)), lastEventId)
  return events.map(parsed)
}
