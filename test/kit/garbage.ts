/** Collects garbage, for tests of what is kept. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects all garbage of this process. A reference that was used in this turn is let go of first. */
export async function collectGarbage(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve))
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  gc()
}
