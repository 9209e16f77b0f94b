/** The parts of a replica, listed once: in this order they are started and stopped, and against it they are closed. */

/** Something that runs beside others. */
export interface Part {
  /** Begins its work. */
  start?(): void
  /** Lets go of what other replicas can go on with, when the replica drains. */
  stop?(): void | Promise<void>
  /** Ends what is left of it, when nobody uses it any more. */
  close?(): void | Promise<void>
}

/** When parts are started: at once, when Redis and the cluster are reached, when labs may be made. */
export type When = 'first' | 'reached' | 'permitted'

/** Parts that do not use each other. They may use those of the stages before. */
export interface Stage {
  readonly when: When
  readonly parts: readonly Part[]
}

export function startParts(stages: readonly Stage[], when: When): void {
  for (const stage of stages) {
    if (stage.when === when) for (const part of stage.parts) part.start?.()
  }
}

/** Stops all of them at the same time. */
export async function stopParts(stages: readonly Stage[]): Promise<void> {
  await Promise.all(stages.flatMap(({ parts }) => parts.map(async part => part.stop?.())))
}

/** The last stage first; a stage when the one after it is closed. */
export async function closeParts(stages: readonly Stage[]): Promise<void> {
  for (const { parts } of stages.toReversed()) await Promise.all(parts.map(async part => part.close?.()))
}
