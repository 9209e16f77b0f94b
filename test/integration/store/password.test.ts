/** A new password of Redis, by the commands of docs/deploy.md: replicas are let in at every step. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Redis as Client } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { commandsOfReplicas } from '../../../src/store/rights.ts'
import { ownRedis } from '../../kit/store/store.ts'

const [old, fresh] = ['before', 'after']
const root = fileURLToPath(new URL('../../..', import.meta.url))
const page = readFileSync(`${root}/docs/deploy.md`, 'utf8')
const section = page.slice(page.indexOf('### A new password of Redis'), page.indexOf('## Behind Gafaelfawr'))

/** The content of each `users.acl` on the page, line by line. */
const files = [...section.matchAll(/users\.acl="(\$\(.*\))"/g)].map(([, command]) => {
  const text = execFileSync('bash', ['-c', `printf %s "${command}"`], {
    cwd: root,
    env: { ...process.env, old, new: fresh },
  })
  return text.toString().trim().split('\n')
})

test('Redis accepts the old and the new password first, and then only the new one', async () => {
  const server = await ownRedis()
  const admin = new Client(server.url)
  onTestFinished(async () => {
    admin.disconnect()
    await server.stop()
  })
  const isLetIn = async (password: string) => {
    const client = new Client(server.url, { lazyConnect: true, retryStrategy: () => null })
    client.on('error', () => {})
    await client.connect()
    const answer = await client.call('AUTH', 'skylab', password).catch((error: Error) => error.message)
    client.disconnect()
    return answer === 'OK'
  }
  const load = async (lines: readonly string[]) => {
    const [, name, ...rules] = lines.find(line => line.startsWith('user skylab '))!.split(' ')
    await admin.call('ACL', 'SETUSER', name!, ...rules)
  }
  expect(files).toHaveLength(2)
  await load(files[0]!)
  expect([await isLetIn(old), await isLetIn(fresh)]).toEqual([true, true])
  await load(files[1]!)
  expect([await isLetIn(old), await isLetIn(fresh)]).toEqual([false, true])
  expect(files[1]!.at(-1)!.match(/\+\w+/g)).toEqual(commandsOfReplicas.map(name => `+${name}`))
})
