import { expect, test } from 'vitest'
import { startRedisContainer } from './container.ts'

test('startRedisContainer refuses a steppable clock before it asks an engine', async () => {
  const starting = startRedisContainer({ stateDir: '/nowhere', image: 'redis', wrongClock: true })
  await expect(starting).rejects.toThrow('the clock of a Redis in a container cannot be stepped')
})
