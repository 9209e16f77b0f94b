/** Reads the files of `tenants.vetting`. */
import type { Config } from '../config/schema.ts'
import { type VettedState, vettedState } from '../tenants/vetting/state.ts'
import { servesTenants } from './checks.ts'

/** Those that can be used; each other one is a problem. */
export async function readVetted(
  config: Pick<Config, 'run' | 'tenants'>,
  reader: { text(key: string, path: string | undefined): Promise<string | undefined> },
  problems: string[],
): Promise<readonly VettedState[]> {
  const states: VettedState[] = []
  const { vetting } = config.tenants
  // Another process has no such files.
  for (const [index, path] of (servesTenants(config) ? vetting.files : []).entries()) {
    const key = `tenants.vetting.files.${index}`
    const text = await reader.text(key, path)
    if (text === undefined) continue
    const state = stateIn(text)
    if (typeof state === 'string') problems.push(`${key}: ${state}`)
    else if (states.some(({ kubernetes }) => kubernetes === state.kubernetes)) {
      problems.push(`${key}: is one more for Kubernetes ${state.kubernetes}`)
    } else states.push(state)
  }
  return states
}

/** Its state, or what is wrong with the text. */
export function stateIn(text: string): VettedState | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'is not JSON'
  }
  const parsed = vettedState.safeParse(value)
  return parsed.success ? parsed.data : 'is not a state that `skylab vet --write` made'
}
