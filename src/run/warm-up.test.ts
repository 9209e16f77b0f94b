import { expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { configSchema } from '../config/schema.ts'
import { Sealer } from '../store/sealing.ts'
import { warmUp } from './warm-up.ts'

test.each([0, 3])('warmUp accepts %d creations when api.warmUpRequests says so', async warmUpRequests => {
  const config = configSchema.parse({ api: { warmUpRequests } })
  const sealer = new Sealer([Buffer.alloc(32)])
  const plans: string[] = []
  const { seal } = sealer
  sealer.seal = (text, ...rest) => {
    plans.push(text)
    return seal.call(sealer, text, ...rest)
  }
  await warmUp({ config, clock: new ManualClock() }, sealer)
  expect(plans.map(plan => JSON.parse(plan).username)).toEqual(['user-1', 'user-2', 'user-3'].slice(0, warmUpRequests))
})
