/** Accepts operations on toys, by the scripts that accept those of labs. */
import type { OperationStore } from '../../../src/store/operations.ts'
import type { Sealer } from '../../../src/store/sealing.ts'
import { type ToyPlan, timesMs } from './context.ts'

export interface Accepting {
  readonly operations: Pick<OperationStore, 'acceptCreate' | 'acceptDelete'>
  readonly sealer: Sealer
}

/** @param nonce the same for a command that is sent again */
export const acceptToy = ({ operations, sealer }: Accepting, name: string, plan: ToyPlan, nonce: string) =>
  operations.acceptCreate({
    name,
    nonce,
    timeoutMs: timesMs.create,
    sealPlan: (keyId, sealedName) => sealer.seal(JSON.stringify(plan), sealedName, nonce, keyId),
    view: { color: plan.color },
    events: [['info', `a toy is wished: ${name}`]],
  })

export const acceptRemoval = ({ operations }: Accepting, name: string, nonce: string) =>
  operations.acceptDelete({
    name,
    nonce,
    timeoutMs: timesMs.delete,
    events: [['info', `a toy is to go: ${name}`]],
    superseded: [['failed', 'superseded: the toy is being removed']],
  })
