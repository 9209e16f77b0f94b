/** A container as clients see it, by Arvados' names. Pure. */
import type { ContainerState, ContainerView } from '../dispatch/container.ts'
import { costOf } from '../dispatch/cost.ts'
import type { ContainerShown } from '../store/dispatch/forms.ts'

/** As Arvados' containers; what is not known yet is null. */
export interface ContainerJson extends ContainerView {
  readonly state: ContainerState
  /** The tenant for whose limits it counts. */
  readonly tenant: string
  readonly priority: number
  readonly created_at: string
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly exit_code: number | null
  /** How often it began. */
  readonly attempt: number
  /** The cloud's id of its present or last machine; '' before the first. */
  readonly instance: string
  readonly instance_type: string
  readonly gateway_address: string
  /** The cost of its present or last run, by the price of the machine. */
  readonly cost: number
  readonly runtime_status: { readonly error?: string; readonly warning?: string; readonly activity?: string }
  /** Why it waits; '' if it does not. */
  readonly scheduling_status: string
}

/** @param waits what the scheduler says of its group */
export function containerJson(found: ContainerShown, waits: string, nowMs: number): ContainerJson {
  const { view, tenant, state, priority, runs, instance, instanceType, gatewayAddress } = found
  return {
    ...view,
    ...{ tenant, state, priority, attempt: runs, instance, instance_type: instanceType },
    gateway_address: gatewayAddress,
    ...{ created_at: timeOf(found.queuedMs) ?? '', started_at: timeOf(found.startedMs) },
    ...{ finished_at: timeOf(found.finishedMs), exit_code: found.exitCode ?? null },
    ...{ cost: costOf(found, nowMs), runtime_status: statusOf(found), scheduling_status: sentence(found, waits) },
  }
}

/** RFC 3339; null for what never was. */
export const timeOf = (ms: number): string | null => (ms === 0 ? null : new Date(ms).toISOString())

function statusOf({ state, cancelled, trouble }: ContainerShown): ContainerJson['runtime_status'] {
  if (state === 'Cancelled') return { error: cancelled || trouble || 'It was cancelled' }
  return {
    ...(cancelled !== '' && state !== 'Complete' && { activity: `It is being stopped: ${cancelled}` }),
    ...(trouble !== '' && { warning: trouble }),
  }
}

/** Why it waits: in the words of Arvados, where it has some. @param waits what the scheduler says of its group */
export function sentence({ state, priority, run }: ContainerShown, waits: string): string {
  if (state === 'Locked') {
    return run > 0
      ? 'Container is allocated to an instance and preparing to run.'
      : 'Container is allocated to an instance that is booting, or about to get it.'
  }
  if (state !== 'Queued') return ''
  if (priority === 0) {
    return 'This container will not be scheduled to run because its priority is 0 and state is Queued.'
  }
  return waits || 'The scheduler has not looked at it yet.'
}
