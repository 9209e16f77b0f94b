import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { redisUsers } from './users.ts'

test('k8s/components/redis has the ACL that the program needs (npm run docs)', () => {
  expect(readFileSync(new URL('../../k8s/components/redis/users.acl', import.meta.url), 'utf8')).toBe(redisUsers())
})
