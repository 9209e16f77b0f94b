/** The events of an app. Pure. */

/**
 * `info`, `error`: what the cluster says of its pods, in words, as for labs; `phase`: `{"phase", "message"}`; `gone`: the app is
 * gone.
 */
export const appEventTypes = ['info', 'error', 'phase', 'gone'] as const

/** `id` is `<series>-<number>`. It is absent only for `gone`. */
export interface AppEvent {
  readonly id?: string
  readonly event: (typeof appEventTypes)[number]
  /** Never empty. */
  readonly data: string
}
