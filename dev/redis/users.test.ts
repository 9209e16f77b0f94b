import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { appsUser, dispatchUser, gatewayUser, notebooksUser, redisUsers, tenantsUser } from './users.ts'

test('k8s/components/redis has the ACL that the program needs (npm run docs)', () => {
  expect(readFileSync(new URL('../../k8s/components/redis/users.acl', import.meta.url), 'utf8')).toBe(redisUsers())
})

test('tenantsUser is the text of the component, for another prefix than that of labs', () => {
  const text = readFileSync(new URL('../../k8s/components/tenants/users.acl', import.meta.url), 'utf8')
  expect(text).toBe(tenantsUser())
  expect(text).toContain('user skylab-tenants reset on >PASSWORD ~{skylab-tenants}:* ')
  expect(redisUsers()).toContain(' ~{skylab}:* ')
})

test('notebooksUser is the text of the component, for a prefix of its own', () => {
  const text = readFileSync(new URL('../../k8s/components/notebooks/users.acl', import.meta.url), 'utf8')
  expect(text).toBe(notebooksUser())
  expect(text).toContain('user skylab-notebooks reset on >PASSWORD ~{skylab-notebooks}:* ')
})

test('appsUser is the text of the component, for a prefix of its own', () => {
  const text = readFileSync(new URL('../../k8s/components/apps/users.acl', import.meta.url), 'utf8')
  expect(text).toBe(appsUser())
  expect(text).toContain('user skylab-apps reset on >PASSWORD ~{skylab-apps}:* ')
})

test('gatewayUser is the text of the component, for some of the keys of apps', () => {
  const text = readFileSync(new URL('../../k8s/components/gateway/users.acl', import.meta.url), 'utf8')
  expect(text).toBe(gatewayUser())
  expect(text).toContain('user skylab-gateway reset on >PASSWORD ~{skylab-apps}:gw:* ')
})

test('dispatchUser is the text of the component, for a prefix of its own and the members of tenants', () => {
  const text = readFileSync(new URL('../../k8s/components/dispatch/users.acl', import.meta.url), 'utf8')
  expect(text).toBe(dispatchUser())
  expect(text).toContain(
    'user skylab-dispatch reset on >PASSWORD ~{skylab-dispatch}:* %R~{skylab-tenants}:tenant-members ',
  )
})
