import { expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { openOnce, routesName } from './serve.ts'

it('a gateway counts as ready when it lets requests through, and not before', async () => {
  const joined = Promise.withResolvers<void>()
  const waiting = new Set([routesName])
  const seen: boolean[] = []
  const opened = openOnce(
    {
      basics: { clock: systemClock },
      access: { isReady: () => true },
      activity: { join: () => joined.promise },
      open: () => void seen.push(waiting.has(routesName)),
    },
    waiting,
    AbortSignal.timeout(10_000),
  )
  await new Promise(setImmediate)
  expect([seen, waiting.has(routesName)]).toEqual([[], true])
  joined.resolve()
  await opened
  expect([seen, waiting.has(routesName)]).toEqual([[true], false])
})
