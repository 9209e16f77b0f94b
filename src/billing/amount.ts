/** Costs of tenants for containers on machines, as they are written beside the table of bills. Pure. */

/** A line: the last run of a container that has ended. The container is its key, so that it is never counted twice. */
export interface Amount {
  readonly container: string
  /** The LNamespace that pays, by its name. */
  readonly tenant: string
  readonly instanceType: string
  readonly pricePerHour: number
  readonly startedMs: number
  readonly finishedMs: number
  readonly cost: number
}

export interface AmountTable {
  /**
   * Adds lines; one whose container has a line changes nothing.
   * @returns those that the database takes in no case
   * @throws {TableTrouble}
   */
  add(amounts: readonly Amount[], signal: AbortSignal): Promise<readonly Amount[]>
  /** Ends its connections. They are made again when they are needed. */
  rest(): void
}
