/** What is read of containers and machines, beside the words of `src/dispatch/container.ts`. Pure. */
import type { ContainerRecord } from '../../dispatch/container.ts'
import type { Need } from '../../dispatch/types.ts'

/** What containers of one group have in common. */
export interface Shape {
  readonly need: Need
  readonly tenant: string
  readonly supervisor: boolean
}

/** A record without what only the keeper of its machine needs. */
export type ContainerShown = Omit<ContainerRecord, 'sealedSpec'>
