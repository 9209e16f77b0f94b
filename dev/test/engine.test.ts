import { expect, test } from 'vitest'
import { redisConfig } from '../image/redis.ts'
import { changesOf } from './engine.ts'

test("changesOf writes an image's settings as a Dockerfile has them", () => {
  expect(changesOf(redisConfig)).toEqual(['CMD ["redis-server"]', 'WORKDIR /data', 'ENV PATH=/usr/bin'])
  expect(changesOf({ Entrypoint: ['/pause', '-P'], User: '65535:65535' })).toEqual([
    'ENTRYPOINT ["/pause","-P"]',
    'USER 65535:65535',
  ])
  expect(changesOf({})).toEqual([])
})
