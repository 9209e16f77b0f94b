/**
 * The step that serves a machine, from its first boot until it is to end. It looks at what Redis has and at what the machine
 * says, and does the next thing: start, kill, tell. A new owner does the same, from the beginning.
 */
import { LetGo, RetryLater } from '../base/errors.ts'
import { EpochPassed } from './epoch.ts'
import { Keeper } from './keeper.ts'
import type { MachineContext, MachineResult, MachineStep } from './shape.ts'

export const serve: MachineStep = { name: 'serve', kind: 'wait', progress: 60, run: serveMachine }

async function serveMachine(context: MachineContext): Promise<MachineResult> {
  const keeper = new Keeper(context)
  try {
    return await keeper.run()
  } catch (error) {
    if (!(error instanceof EpochPassed)) throw error
    context.parts.sight.stale('epoch')
    const isRaised = await context.keeping.floor(error.highest)
    if (isRaised) throw new LetGo('the machine has heard a higher epoch, so the next claim draws one above it')
    await context.keeping.keep({ broken: 'it says that it has heard an epoch of tomorrow', idleBehavior: 'drain' })
    throw new RetryLater('the machine obeys no epoch of ours')
  } finally {
    await keeper.close()
  }
}
