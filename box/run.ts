import { makeStateFolder } from './paths.ts'
import type { Progress } from './progress.ts'
import { forgetRun, registerRun, sweepRuns } from './runs.ts'
import { takeDown } from './teardown.ts'

/** Room that a real node with an image of JupyterLab takes. */
const neededBytes = 2 * 1024 ** 3

/** One run of a script: a folder for all it writes, written down so that a later run can clean up after a crash. */
export interface Run {
  readonly stateDir: string
  /** Ends everything that was started with this folder and removes it. May be called again. */
  close(): Promise<void>
}

/** Opens a run, after taking down what scripts that were killed have left. */
export async function openRun(progress: Progress): Promise<Run> {
  await sweepRuns(stateDir =>
    progress.part('clean up after a run that was killed', () => takeDownAndTell(stateDir, progress)),
  )
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

async function takeDownAndTell(stateDir: string, progress: Progress): Promise<void> {
  for (const difference of await takeDown(stateDir)) progress.say(`  the machine differs from before: ${difference}`)
}
