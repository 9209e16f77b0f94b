/** The Redis of k8s/components/redis with its own files: acknowledged writes survive a restart. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Redis as Client } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { findProgram } from '../../../dev/process/command.ts'
import { freePort } from '../../../dev/process/ports.ts'
import { stopProcess } from '../../../dev/process/process.ts'
import { controlServer, startServer } from '../../../dev/process/server.ts'
import type { Redis } from '../../../dev/redis/redis.ts'
import { redisUsers } from '../../../dev/redis/users.ts'
import { Store } from '../../kit/store/store.ts'
import { testBed } from '../../kit/testbed.ts'

const component = fileURLToPath(new URL('../../../k8s/components/redis', import.meta.url))
const password = 'of-this-test'

/** Redis with the component's redis.conf and users.acl, except for paths and the port. */
async function shippedRedis() {
  const stateDir = join(testBed().stateDir, 'stores', randomBytes(4).toString('hex'))
  mkdirSync(stateDir, { recursive: true })
  const port = await freePort()
  const users = join(stateDir, 'users.acl')
  const settings = readFileSync(join(component, 'redis.conf'), 'utf8')
    .replace('port 6379', `port ${port}\nbind 127.0.0.1\nset-proc-title no`)
    .replace('dir /data', `dir ${stateDir}`)
    .replace('/etc/redis/secret/users.acl', users)
  writeFileSync(join(stateDir, 'redis.conf'), settings)
  writeFileSync(users, redisUsers(password))
  const command = findProgram('redis-server')!
  const spec = { name: 'redis', command, args: [join(stateDir, 'redis.conf')], stateDir }
  const url = `redis://skylab:${password}@127.0.0.1:${port}`
  const readiness = { answers: () => holdsData(url), limitMs: 20_000 }
  await startServer(spec, readiness)
  onTestFinished(() => stopProcess(stateDir, 'redis', 5000))
  return { url, port, ...controlServer(spec, readiness) }
}

/** Whether it has loaded its file. */
async function holdsData(url: string): Promise<boolean> {
  const client = new Client(url, { lazyConnect: true, retryStrategy: () => null }).on('error', () => {})
  try {
    await client.connect()
    return (await client.exists('{skylab}:any')) === 0
  } finally {
    client.disconnect()
  }
}

test('Redis of the component keeps what scripts wrote when it is restarted', async () => {
  const { url, ...control } = await shippedRedis()
  const server = { url, programUrl: url, ...control } as Redis
  const open = async () => {
    const store = await Store.open(server, 'skylab', url)
    onTestFinished(() => store.close())
    return store
  }
  const before = await open()
  await before.compare()
  const op = await before.run('ada')
  const events = await before.eventsOf('ada', op)
  expect(events.length).toBeGreaterThan(1)
  before.close()
  await control.restart()
  const after = await open()
  await after.compare()
  expect(await after.record('ada')).toMatchObject({ op, status: 'running' })
  expect(await after.eventsOf('ada', op)).toEqual(events)
})

test('no client can be the default user of the component', async () => {
  const { port } = await shippedRedis()
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const answers = createInterface(socket)[Symbol.asyncIterator]()
  const ask = async (command: string) => {
    socket.write(`${command}\r\n`)
    return (await answers.next()).value
  }
  expect(await ask('GET {skylab}:last')).toMatch(/^-NOAUTH /)
  for (const guess of ['default', password]) expect(await ask(`AUTH default ${guess}`)).toMatch(/^-WRONGPASS /)
  expect(await ask(`AUTH ${password}`)).toMatch(/^-WRONGPASS /)
})
