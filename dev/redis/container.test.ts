import { expect, test } from 'vitest'
import { startRedisContainer } from './container.ts'

test('a clock that can be stepped is refused, in words, before any engine is asked', async () => {
  const starting = startRedisContainer({ stateDir: '/nowhere', image: 'redis', wrongClock: true })
  await expect(starting).rejects.toThrow('the clock of a Redis in a container cannot be stepped')
})
