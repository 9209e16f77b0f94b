/** Waits until Redis can be used by a process whose scripts need it. */
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { missingRights } from '../store/rights.ts'
import type { Basics } from './basics.ts'
import { redisName } from './readiness.ts'
import type { Store } from './store.ts'

/** What the wait takes of a replica. */
export interface OnRedis {
  readonly basics: Pick<Basics, 'clock' | 'log'>
  readonly store: Pick<Store, 'connection' | 'keys'>
  /** The commands that the user of Redis has no right to call. Default: those of replicas. */
  readonly missing?: (connection: Store['connection'], keys: Store['keys']) => Promise<readonly string[]>
}

const lookMs = 200
/** How often missing rights are checked again. */
const rightsMs = 1000
const rightTo = 'the right of its user of Redis to call'

/** @throws {NeedsSomeone} when the configured Redis can never be used */
export async function reachRedis(replica: OnRedis, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { basics, store } = replica
  while (!store.connection.connected()) {
    mayStart(store.connection)
    await basics.clock.sleep(lookMs, signal)
  }
  await mayCall(replica, waiting, signal)
  waiting.delete(redisName)
  basics.log.info('connected to Redis')
}

/** Waits until the user of Redis may call all commands: otherwise an operation could stop between its steps. */
async function mayCall(
  { store, basics, missing: lists = missingRights }: OnRedis,
  waiting: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const { connection, keys } = store
  const { clock, log } = basics
  let lacking: string | undefined
  for (;;) {
    mayStart(connection)
    const missing = await lists(connection, keys).catch(error => {
      if (error instanceof RetryLater) return null
      throw error
    })
    if (missing?.length === 0) break
    const what = missing && `${rightTo} ${missing.map(name => name.toUpperCase()).join(', ')}`
    if (what !== lacking) {
      if (lacking) waiting.delete(lacking)
      if (what) waiting.add(what)
      if (what) log.error({ missing }, 'the user of Redis lacks rights to call commands that are needed')
      lacking = what ?? undefined
    }
    await clock.sleep(rightsMs, signal)
  }
  if (lacking) waiting.delete(lacking)
}

/** @throws {NeedsSomeone} when the configured Redis can never be used */
export function mayStart(connection: OnRedis['store']['connection']): void {
  const trouble = connection.trouble()
  if (trouble?.final) throw new NeedsSomeone(trouble.words)
}
