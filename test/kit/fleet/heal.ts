/** `skylab heal`, as the first replica is configured. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { main } from '../../../src/main.ts'
import type { Fleet } from './fleet.ts'
import { configFile } from './fleet-parts.ts'

/** Beyond the clock of Redis for ever. */
export const poison = Number.MAX_SAFE_INTEGER

type Healed = Pick<Fleet, 'stateDir' | 'redis'>

/** As the replica's, with a user of Redis who may also look for keys. */
function writeConfig({ stateDir, redis: { healerUrl } }: Healed): string {
  const config = parse(readFileSync(configFile(stateDir, 0), 'utf8'), { version: '1.1' })
  const { username, password } = new URL(healerUrl)
  const url = Object.assign(new URL(config.redis.url), { username, password }).href
  const file = join(stateDir, 'heal.yaml')
  writeFileSync(file, stringify({ ...config, redis: { ...config.redis, url } }, { version: '1.1' }), { mode: 0o600 })
  return file
}

export async function heal(fleet: Healed, ...options: string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await main(['heal', '--config', writeConfig(fleet), ...options], {
    env: {},
    serve: async () => {},
    out: text => void out.push(text),
    err: text => void err.push(text),
  })
  return { code, out: out.join(''), err: err.join('') }
}
