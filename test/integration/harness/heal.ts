/** `skylab heal`, by way of the first replica's configuration. */
import { main } from '../../../src/main.ts'
import type { Fleet } from './fleet.ts'
import { configFile } from './fleet-parts.ts'

/** Beyond the clock of Redis for ever. */
export const poison = Number.MAX_SAFE_INTEGER

export async function heal({ stateDir }: Pick<Fleet, 'stateDir'>, ...options: string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await main(['heal', '--config', configFile(stateDir, 0), ...options], {
    env: {},
    serve: async () => {},
    out: text => void out.push(text),
    err: text => void err.push(text),
  })
  return { code, out: out.join(''), err: err.join('') }
}
