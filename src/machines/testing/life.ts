/** For tests: beginnings and ends of a machine's life. */
import { expect } from 'vitest'
import type { MachineBrief } from '../../dispatch/container.ts'
import { needOf } from '../../dispatch/testing/world.ts'
import { type Site, uuid } from './site.ts'

/** Assigned, and not sent. */
export const container = { uuid, run: 0, supervisor: false, need: needOf(1) }
/** A machine that has booted. */
export const booted: Partial<MachineBrief> = { instance: 'i-1', address: 'i-1:22', state: 'idle' }
export const ended = { kind: 'ended', atMs: 2, end: { exitCode: 0 } } as const

export const until = (what: () => unknown) => expect.poll(what, { timeout: 5_000, interval: 5 })

/** Ends the machine, and waits until its life is over. */
export async function end(site: Site, life: Promise<void>, ending = 'idle'): Promise<void> {
  site.change({ ending, state: 'shutdown', sinceMs: Date.now() })
  site.end()
  await life
}
