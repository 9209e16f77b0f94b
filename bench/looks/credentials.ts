/** Writes into the records of labs that a plain client made what the end of a creation writes: the token of their own API. */
import { loadSettings } from '../../src/settings/load.ts'
import { sealCredential } from '../../src/store/credential.ts'
import { Keys } from '../../src/store/keys.ts'
import { Sealer } from '../../src/store/sealing.ts'
import type { BenchStack } from '../measure/bench-stack.ts'

export async function giveCredentials({ stack, redis, users }: BenchStack): Promise<void> {
  const { config, sealingKeys } = await loadSettings(stack.configFile, {})
  const [keys, sealer] = [new Keys(config.redis.keyPrefix), new Sealer(sealingKeys)]
  await Promise.all(
    users.map(async ({ name }) => {
      const record = keys.record(name)
      const op = Number(await redis.hget(record, 'op'))
      await redis.hset(record, 'credential', sealCredential(sealer, name, op, `token-of-${name}`))
    }),
  )
}
