/**
 * The step that serves a machine, from its first boot until it is to end. It looks at what Redis has and at what the machine
 * says, and does the next thing: start, kill, tell. A new owner does the same, from the beginning.
 */
import { LetGo } from '../../base/errors.ts'
import { EpochPassed } from '../epoch.ts'
import { Keeper } from '../keeper.ts'
import type { MachineContext, MachineResult, MachineStep } from '../shape.ts'

export const serve: MachineStep = { name: 'serve', kind: 'wait', progress: 60, run: serveMachine }

async function serveMachine(context: MachineContext): Promise<MachineResult> {
  const keeper = new Keeper(context)
  try {
    return await keeper.run()
  } catch (error) {
    if (!(error instanceof EpochPassed)) throw error
    await context.parts.keeping.floorEpoch(error.highest)
    throw new LetGo('the machine has heard a higher epoch, so the next claim draws one above it')
  } finally {
    await keeper.close()
  }
}
