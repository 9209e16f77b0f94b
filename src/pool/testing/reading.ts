/** Readings of Redis as a pass gets them. Pure. */
import type { MachineBrief } from '../../dispatch/container.ts'
import { someTypes } from '../../dispatch/testing/arbitrary.ts'
import { needOf } from '../../dispatch/testing/world.ts'
import { calm } from '../../dispatch/throttle.ts'
import type { Queued, QueueGroup, Reading } from '../../store/dispatch/scheduling.ts'

/** The cloud has a name of its own for each type. */
export const offeredTypes = someTypes.map(type => ({ ...type, providerType: `t.${type.name}` }))

export const nowMs = 1_700_000_000_000

export const uuidOf = (op: number): string => `zzzzz-dz642-${op.toString(36).padStart(15, '0')}`

export const briefOf = (name: string, over: Partial<MachineBrief> = {}): MachineBrief => ({
  ...{ name, op: Number.parseInt(name, 36), type: 'small', price: 1, tenant: 'default' },
  providerType: `t.${over.type ?? 'small'}`,
  ...{ state: 'idle', sinceMs: nowMs - 1, createdMs: nowMs - 100_000, probedMs: nowMs - 1, busyMs: 0 },
  ...{ idleBehavior: 'run', broken: '', instance: `i-${name}`, address: '10.0.0.1:22', ending: '' },
  ...{ containers: [], lastContainer: '', version: 1, ...over },
})

export const waits = (op: number, over: Partial<Queued> = {}): Queued => ({
  ...{ uuid: uuidOf(op), shape: 'g', tenant: 'default', priority: 1, queuedMs: nowMs - 1000, attempts: 0 },
  ...{ supervisor: false, version: 1, machine: '', ...over },
})

export const groupOf = (over: Partial<QueueGroup> = {}): QueueGroup => ({
  ...{ id: 'g', need: needOf(1), tenant: 'default', supervisor: false, count: 1, ...over },
})

export const readingOf = (over: Partial<Reading> = {}): Reading => ({
  ...{
    nowMs,
    groups: [groupOf()],
    queue: [],
    machines: [],
    throttle: calm,
    throttleVersion: 0,
    unasked: 0,
    cut: new Set(),
    ...over,
  },
})
