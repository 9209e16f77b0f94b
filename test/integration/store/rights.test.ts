/** Rights in Redis: missing ones are known by name, and an installation reaches only its own keys. */
import { Redis as Client } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { RetryLater } from '../../../src/base/errors.ts'
import { Keys } from '../../../src/store/keys.ts'
import { aclLine, commandsOfReplicas, dispatchAclLine, missingRights } from '../../../src/store/rights.ts'
import { creation, ownRedis, refusedBy, Store } from '../../kit/store/store.ts'

async function start(): Promise<Store> {
  const server = await ownRedis()
  const store = await Store.open(server)
  onTestFinished(async () => {
    store.close()
    await server.stop()
  })
  return store
}

test('the server lists the commands that its user may not call, without a call of any of them', async () => {
  const store = await start()
  const ask = () => missingRights(store.connection, store.keys)
  expect(await ask()).toEqual([])
  await store.redis.call('ACL', 'SETUSER', 'program', '-hset', '-xread', '-time', '-eval')
  expect(await ask()).toEqual(['eval', 'hset', 'time', 'xread'])
  await store.redis.call(
    'ACL',
    'SETUSER',
    'program',
    ...commandsOfReplicas.map(name => `-${name}`),
    '+evalsha',
    '+info',
  )
  expect(await ask()).toEqual(commandsOfReplicas.filter(name => name !== 'evalsha' && name !== 'info'))
  expect(await store.redis.dbsize()).toBe(0)
})

test('the user of dispatch may read who is in which tenant, and the server says so when it may not', async () => {
  const store = await start()
  const tenants = new Keys('of-tenants')
  const ask = () => missingRights(store.connection, store.keys, tenants)
  expect(await ask()).toEqual(['hmget'])
  const line = dispatchAclLine({
    name: 'program',
    password: '>program',
    keyPrefix: store.prefix,
    tenants: 'of-tenants',
  })
  await store.redis.call('ACL', 'SETUSER', ...line.split(' ').slice(1))
  expect(await ask()).toEqual([])
})

test('the cause names the command when scripts themselves are not permitted', async () => {
  const store = await start()
  await store.redis.call('ACL', 'SETUSER', 'program', '-evalsha', '-eval')
  await expect(missingRights(store.connection, store.keys)).rejects.toMatchObject({
    message: 'Redis does not answer: its user lacks a right',
    cause: { message: expect.stringMatching(/NOPERM.*'eval(sha)?'/) },
  })
})

test('a command is put off when a right is removed during its script', async () => {
  const store = await start()
  await store.compare()
  await store.redis.call('ACL', 'SETUSER', 'program', '-hset')
  await expect(store.labs.acceptCreate(creation('ada'))).rejects.toThrow(RetryLater)
  await store.redis.call('ACL', 'SETUSER', 'program', '+hset')
  expect(await store.labs.acceptCreate(creation('grace'))).toMatchObject({ answer: 'accepted' })
})

test('two installations on one Redis do not read, write or list keys of each other', async () => {
  const store = await start()
  const name = 'other'
  const line = aclLine({ name, password: '>other', keyPrefix: 'p-other' })
  await store.redis.call('ACL', 'SETUSER', ...line.split(' ').slice(1))
  await store.compare()
  await store.run('ada')
  const client = new Client({ host: '127.0.0.1', port: store.server.port, username: name, password: name })
  onTestFinished(() => client.disconnect())
  client.on('error', () => {})
  const refused = /NOPERM|user executing the script can't access/
  await expect(client.hgetall(store.keys.record('ada'))).rejects.toThrow(refused)
  await expect(client.set(store.keys.last, '1')).rejects.toThrow(refused)
  await expect(client.eval("return redis.call('GET', ARGV[1])", 0, store.keys.last)).rejects.toThrow(refused)
  await expect(client.xread('STREAMS', store.keys.bell, '0')).rejects.toThrow(refused)
  await expect(client.keys('*')).rejects.toThrow(refused)
  await expect(client.scan(0)).rejects.toThrow(refused)
  await expect(client.flushall()).rejects.toThrow(refused)
  await expect(client.config('GET', '*')).rejects.toThrow(refused)
  expect(await client.set('{p-other}:last', '1')).toBe('OK')
  expect(await store.record('ada')).toMatchObject({ status: 'running' })
  expect(await refusedBy(store.server)).not.toEqual([])
})
