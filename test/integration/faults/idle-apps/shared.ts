/** The one fleet of the attacks on idle apps; those that change it for all have their own. */
import { IdleApps } from '../../../kit/apps/idle-apps.ts'

let started: Promise<IdleApps> | undefined

/** The fleet. The first attack starts it. */
export function idleApps(): Promise<IdleApps> {
  started ??= IdleApps.start({ stopsPerMinute: 1_000 })
  return started
}

export async function stopIdleApps(): Promise<void> {
  const apps = await started?.catch(() => undefined)
  started = undefined
  await apps?.stop()
}
