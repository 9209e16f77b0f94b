/**
 * The step that asks the cloud for a machine. Its intent is in Redis by now: the record. The cloud's answer decides
 * what follows. A call without an answer is made again with the same token; where the cloud does not honour that, the sweep
 * finds the second machine.
 */
import { RetryLater } from '../base/errors.ts'
import type { CloudCall, Instance } from '../clouds/driver.ts'
import { AtQuota, CloudRefused, IntentOver, NoCapacity, RateLimited, Unanswered } from '../clouds/errors.ts'
import type { MachineBrief } from '../dispatch/container.ts'
import type { CreateOutcome } from '../dispatch/throttle.ts'
import type { MachineContext, MachineResult, MachineStep } from './shape.ts'

export const create: MachineStep = { name: 'create', kind: 'act', progress: 20, run: createMachine }

async function createMachine(context: MachineContext): Promise<MachineResult> {
  const { brief, facts } = await context.keeping.read()
  if (brief.instance !== '' || brief.ending !== '') return 'nothing'
  const { plan } = context
  if (!plan || !('secret' in plan)) return end(context, 'its secret is not known')
  await context.failpoint('before-act')
  const made = await ask(context, brief, { secret: plan.secret, place: facts.place })
  await context.failpoint('after-act')
  if (typeof made === 'string') return end(context, made)
  const { teach } = context.parts
  const { id, address = '' } = made
  const kept = await context.keeping.keep({ instance: id, address, state: 'booting' })
  // The sweep found it first, and gave it a record of its own.
  if (kept.answer === 'taken') return end(context, `${id} has another record`)
  await teach({ kind: 'created', type: brief.type })
  return { events: [['info', `The cloud made ${id}`]] }
}

/** @returns the machine, or why there is none */
async function ask(
  context: MachineContext,
  brief: MachineBrief,
  { secret, place }: { readonly secret: string; readonly place: string },
): Promise<Instance | string> {
  const { cloud, intent } = context.parts
  // A token counts in one place only, so the place is known before the call.
  const note = async (next: string) => void (await context.keeping.keep({ place: next }))
  const call: CloudCall = { ...context.call(), note }
  const wish = { ...(await intent(brief, secret)), ...(place !== '' && { place }) }
  try {
    return await cloud.call('create', call, async driver => {
      await call.failpoint?.('before-send')
      const prepared = (await driver.prepare?.(wish, call)) ?? []
      const made = await driver.create(wish, prepared, call)
      await call.failpoint?.('after-send')
      return made
    })
  } catch (error) {
    return taught(context, brief, error)
  }
}

/** @returns why there is no machine @throws {RetryLater} where there may be one */
async function taught(context: MachineContext, { type }: MachineBrief, error: unknown): Promise<string> {
  const { teach, groupOf } = context.parts
  if (error instanceof Unanswered) throw new RetryLater(error.message)
  const outcome = outcomeOf(error, type, groupOf)
  if (outcome) await teach(outcome)
  else if (!(error instanceof IntentOver) && !(error instanceof CloudRefused)) throw error
  return (error as Error).message
}

function outcomeOf(error: unknown, type: string, groupOf: (type: string) => string): CreateOutcome | undefined {
  if (error instanceof RateLimited) return { kind: 'RateLimited', untilMs: error.untilMs }
  if (error instanceof AtQuota) return { kind: 'AtQuota', group: groupOf(type), count: 0 }
  // A type that the cloud refuses pauses too: the next attempt would be refused as well.
  if (error instanceof NoCapacity || error instanceof CloudRefused) return { kind: 'NoCapacity', type }
  return undefined
}

async function end({ keeping }: MachineContext, why: string): Promise<MachineResult> {
  await keeping.keep({ ending: why })
  return { events: [['info', `There is no machine: ${why}`]] }
}
