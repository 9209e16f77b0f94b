/** Options of Node by which replicas can be profiled (`profiler.ts`). */
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Replica } from '../../dev/stack/replicas.ts'

/** @param folder for the profiles, which is made; undefined: none are wanted */
export function profilerArgs(folder: string | undefined): string[] {
  if (folder === undefined) return []
  mkdirSync(folder, { recursive: true })
  const module = new URL('./profiler.ts', import.meta.url)
  module.searchParams.set('folder', resolve(folder))
  return [`--import=${module}`]
}

/** Profiles replicas, which were started so, while this work lasts. */
export async function profiled<T>(
  folder: string | undefined,
  replicas: readonly Replica[],
  work: () => Promise<T>,
): Promise<T> {
  const signalAll = () => {
    if (folder !== undefined) for (const replica of replicas) replica.kill('SIGUSR2')
  }
  signalAll()
  const result = await work()
  signalAll()
  return result
}
