/** Milliseconds since the epoch with their fractions, of one clock for all processes of this computer. */
export const nowMs = (): number => performance.timeOrigin + performance.now()
