/** The events of an LNamespace. Pure. */

/** The kinds of events. */
export const tenantEventTypes = ['condition', 'granted', 'effective', 'ended', 'gone'] as const

/** `id` is `<generation>-<number>`. It is absent only for the last one. */
export interface TenantEvent {
  readonly id?: string
  readonly event: (typeof tenantEventTypes)[number]
  /** A JSON object. */
  readonly data: string
}
