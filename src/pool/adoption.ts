/** Adopts machines of our set that no record has. Keepers then ask them what they run. */
import type { Instance } from '../clouds/driver.ts'
import type { Adopted, MachineStore } from '../store/dispatch/machines.ts'
import type { Sealer } from '../store/sealing.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Tagging } from './tagging.ts'

export interface AdoptionOptions {
  readonly machines: Pick<MachineStore, 'adopt'>
  readonly tagging: Tagging
  readonly sealer: Pick<Sealer, 'seal'>
  readonly log: Logger
  /** The longest life of a machine. */
  readonly lifeMs: number
  /** Counts machines without a record; `late`: its intent was over, so that it ends. */
  readonly onAdopted: (answer: 'adopted' | 'late') => void
}

export type AdoptedBy = Parameters<MachineStore['adopt']>[1]

/** @returns false if the mark or the lease by which it is adopted is gone */
export async function adopt(
  { machines, tagging, sealer, log, lifeMs, onAdopted }: AdoptionOptions,
  found: Instance,
  by: AdoptedBy,
): Promise<boolean> {
  // A check and its use read the same tags.
  if (!tagging.isOurs(found.tags)) return true
  const plan = JSON.stringify(tagging.planOf(found.tags))
  const adopted: Adopted = await machines.adopt(
    {
      ...tagging.strayOf(found),
      timeoutMs: lifeMs,
      sealPlan: (keyId, sealedName, nonce) => sealer.seal(plan, sealedName, nonce, keyId),
    },
    by,
  )
  const { answer } = adopted
  if (answer === 'unmarked') return false
  if (answer === 'adopted' || answer === 'late') {
    onAdopted(answer)
    log.warn(
      { instance: found.id, machine: adopted.name, late: answer === 'late' },
      'a machine without a record is adopted',
    )
  }
  // Other replicas have the key that seals, and adopt it.
  if (answer === 'sealed')
    log.warn({ instance: found.id }, 'a machine cannot be adopted: plans are sealed with another key')
  return true
}
