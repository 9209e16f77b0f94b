/** Names of runs: of folders, of locks, and in what a keeper says. Pure. */

export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && /^[a-z0-9]{5}-dz642-[a-z0-9]{15}$/.test(value)

/** Runs and epochs. */
export const isRun = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0
