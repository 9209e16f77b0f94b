/** Numbers of apps, for metrics. Pure. */
import { type AppPhase, appPhases } from '../base/app-route.ts'
import { asObject, asObjects } from '../base/json.ts'
import { appConditionTypes } from './status.ts'
import type { AppWorld } from './world.ts'

export interface AppCount {
  /** By the phase that the status says; `Unknown` where it says none. */
  readonly phases: Readonly<Record<AppPhase | 'Unknown', number>>
  /** By the conditions that are true. */
  readonly conditions: Readonly<Record<string, number>>
}

export function countApps({ sights }: Pick<AppWorld, 'sights'>): AppCount {
  const phases: Record<string, number> = Object.fromEntries([...appPhases, 'Unknown'].map(phase => [phase, 0]))
  const conditions: Record<string, number> = Object.fromEntries(appConditionTypes.map(type => [type, 0]))
  for (const { owned } of sights.applications.values()) {
    const status = asObject(owned.status)
    const phase = appPhases.find(each => each === status.phase) ?? 'Unknown'
    phases[phase]! += 1
    for (const type of appConditionTypes) {
      const isTrue = asObjects(status.conditions).some(each => each.type === type && each.status === 'True')
      if (isTrue) conditions[type]! += 1
    }
  }
  return { phases: phases as AppCount['phases'], conditions }
}
