/** The parts of a replica, listed once. They are started and stopped in this order, and closed in the reverse order. */

/** A part that runs beside others. */
export interface Part {
  /** Begins its work. */
  start?(): void
  /** Hands over work that other replicas can continue, when the replica drains. */
  stop?(): void | Promise<void>
  /** Ends the rest, when no other part uses this one any more. */
  close?(): void | Promise<void>
}

/** When parts are started: at once, when Redis is reached, when the cluster is reached too, or when labs may be created. */
export type When = 'first' | 'connected' | 'reached' | 'permitted'

/** Parts that do not use each other. They may use those of earlier stages. */
export interface Stage {
  readonly when: When
  readonly parts: readonly Part[]
}

export function startParts(stages: readonly Stage[], when: When): void {
  for (const stage of stages) {
    if (stage.when === when) for (const part of stage.parts) part.start?.()
  }
}

/** Stops all parts at the same time. */
export async function stopParts(stages: readonly Stage[]): Promise<void> {
  await Promise.all(stages.flatMap(({ parts }) => parts.map(async part => part.stop?.())))
}

/** Closes the last stage first; each stage waits until the one after it is closed. */
export async function closeParts(stages: readonly Stage[]): Promise<void> {
  for (const { parts } of stages.toReversed()) await Promise.all(parts.map(async part => part.close?.()))
}
