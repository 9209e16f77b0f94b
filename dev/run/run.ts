import { readNodeRecord } from '../node/record.ts'
import { makeStateFolder } from '../process/paths.ts'
import type { Progress } from '../process/progress.ts'
import { lockRealNode } from './claim.ts'
import { forgetRun, registerRun, sweepRuns } from './runs.ts'
import { clusterFolder, takeDown } from './teardown.ts'

/** Space for a real node with an image of JupyterLab. */
const neededBytes = 2 * 1024 ** 3

/** One run of a script: its folder, recorded so that a later run can clean up after a crash. */
export interface Run {
  readonly stateDir: string
  /** Ends everything that was started with this folder, and removes it. Can be called again. */
  close(): Promise<void>
}

/** Opens a run, after taking down the runs of killed scripts. */
export async function openRun(progress: Progress): Promise<Run> {
  await sweepRuns(stateDir => sweepRun(stateDir, progress))
  const stateDir = makeStateFolder(neededBytes)
  registerRun(stateDir)
  let closed: Promise<void> | undefined
  const close = async () => {
    await takeDownAndTell(stateDir, progress)
    forgetRun(stateDir)
  }
  return {
    stateDir,
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

/** Takes down a killed script's run; false when that has to wait because another run has the real node. */
async function sweepRun(stateDir: string, progress: Progress): Promise<boolean> {
  const hasNode = readNodeRecord(clusterFolder(stateDir)) !== null
  const lock = hasNode ? await lockRealNode() : null
  if (hasNode && !lock) return false
  try {
    await progress.part('clean up after a run that was killed', () => takeDownAndTell(stateDir, progress))
    return true
  } catch (error) {
    // Remains of another run must not stop this one; a real node is refused if they matter.
    progress.say(`  ${(error as Error).message}`)
    return false
  } finally {
    await lock?.release()
  }
}

async function takeDownAndTell(stateDir: string, progress: Progress): Promise<void> {
  for (const difference of await takeDown(stateDir)) progress.say(`  the machine differs from before: ${difference}`)
}
