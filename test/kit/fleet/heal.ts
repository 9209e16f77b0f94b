/** `skylab heal` with the configuration of a replica. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { main } from '../../../src/main.ts'
import type { Fleet } from './fleet.ts'
import { configFile } from './fleet-parts.ts'

/** An op that Redis' clock will never reach. */
export const poison = Number.MAX_SAFE_INTEGER

interface Healed extends Pick<Fleet, 'stateDir' | 'redis'> {
  /** Default: that of the first replica of labs. */
  readonly configFile?: string
}

/** The replica's configuration, with a Redis user that may also list keys. */
function writeConfig({ stateDir, redis: { healerUrl }, configFile: from = configFile(stateDir, 0) }: Healed): string {
  const config = parse(readFileSync(from, 'utf8'), { version: '1.1' })
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
