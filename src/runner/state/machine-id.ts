import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'

/** Names a machine by its state folder, in names of control groups, locks and containers. */
export function machineId(dir: string): string {
  const { dev, ino } = statSync(dir, { bigint: true })
  return createHash('sha256').update(`${dev}:${ino}`).digest('hex').slice(0, 16)
}
