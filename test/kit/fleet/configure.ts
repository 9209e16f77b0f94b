/** Changes the configuration of one replica. The replica applies it at its next start. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import type { Fleet } from './fleet.ts'

export function configure({ stateDir }: Fleet, index: number, change: (config: ConfigInput) => ConfigInput): void {
  const file = join(stateDir, `replica-${index + 1}.yaml`)
  const config = change(parse(readFileSync(file, 'utf8'), { version: '1.1' }))
  writeFileSync(file, stringify(config, { version: '1.1' }), { mode: 0o600 })
}

/** Gives a replica sealing keys; it seals with the first. */
export function giveKeys(fleet: Fleet, index: number, keys: readonly Buffer[]): void {
  const keyFiles = keys.map((key, i) => {
    const name = `replica-${index + 1}.key-${i}`
    writeFileSync(join(fleet.stateDir, name), `${key.toString('base64')}\n`, { mode: 0o600 })
    return name
  })
  configure(fleet, index, config => ({ ...config, sealing: { keyFiles } }))
}
