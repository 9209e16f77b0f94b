import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LabEvent } from '../../src/base/domain.ts'
import { findProgram } from '../process/command.ts'
import { type Redis as RedisServer, startRedis } from '../redis/redis.ts'
import type { LabStatusAnswer } from './client.ts'
import { askLab, deleteLab, findTraces, type LabDemo, spawnLab } from './lab.ts'

const complete: LabEvent = { event: 'complete', data: 'done' }

/** A lab with given answers; `calls` records what the demo did with it. */
function fakeDemo(answers: {
  events?: LabEvent[]
  status?: LabStatusAnswer | null
  exists?: boolean
  kubectl?: string
}) {
  const calls: string[] = []
  const shown: LabEvent[] = []
  const demo: LabDemo = {
    username: 'ada',
    client: {
      create: async (username, options) => void calls.push(`create ${username} ${JSON.stringify(options)}`),
      async *events() {
        yield* answers.events ?? [complete]
      },
    },
    admin: {
      status: async () => answers.status ?? null,
      delete: async username => {
        calls.push(`delete ${username}`)
        return answers.exists ?? true
      },
    },
    kubectl: async args => {
      calls.push(`kubectl ${args.join(' ')}`)
      return answers.kubectl ?? ''
    },
    show: event => shown.push(event),
  }
  return { demo, calls, shown }
}

describe('spawnLab', () => {
  it('shows every event, and returns the status of the lab', async () => {
    const events: LabEvent[] = [{ event: 'progress', data: '10' }, complete]
    const { demo, calls, shown } = fakeDemo({ events, status: { status: 'running', internal_url: 'http://x' } })
    expect(await spawnLab(demo, { size: 'small' })).toEqual({ status: 'running', internal_url: 'http://x' })
    expect(calls).toEqual(['create ada {"size":"small"}'])
    expect(shown).toEqual(events)
  })

  it('fails with the last error when the creation failed', async () => {
    const events: LabEvent[] = [
      { event: 'error', data: 'image not found' },
      { event: 'failed', data: 'failed' },
    ]
    await expect(spawnLab(fakeDemo({ events }).demo, {})).rejects.toThrow('creation ended failed: image not found')
  })

  it('fails when the events say complete but the lab does not run', async () => {
    const { demo } = fakeDemo({ status: { status: 'pending' } })
    await expect(spawnLab(demo, {})).rejects.toThrow('the lab is pending')
  })
})

describe('deleteLab', () => {
  it('follows the deletion to its end', async () => {
    const { demo, calls, shown } = fakeDemo({})
    await deleteLab(demo)
    expect(calls).toEqual(['delete ada'])
    expect(shown).toEqual([complete])
  })

  it('fails when there is no lab, and when the deletion failed', async () => {
    await expect(deleteLab(fakeDemo({ exists: false }).demo)).rejects.toThrow('no lab')
    const events: LabEvent[] = [{ event: 'failed', data: 'a finalizer' }]
    await expect(deleteLab(fakeDemo({ events }).demo)).rejects.toThrow('deletion ended failed: a finalizer')
  })
})

describe('askLab', () => {
  let server: Server
  let port: number
  beforeEach(async () => {
    server = createServer((request, response) => response.writeHead(request.url === '/user/ada/api' ? 200 : 404).end())
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterEach(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })

  it("asks the lab's own API by the address of its service", async () => {
    const { demo, calls } = fakeDemo({ kubectl: '127.0.0.1\n' })
    expect(await askLab(demo.kubectl, `http://nb-ada.nublado-ada:${port}/user/ada/`)).toBe(200)
    expect(calls[0]).toContain('get service nb-ada -n nublado-ada')
  })

  it('returns the status of the answer, whatever it is', async () => {
    const { demo } = fakeDemo({ kubectl: '127.0.0.1' })
    expect(await askLab(demo.kubectl, `http://nb-ada.nublado-ada:${port}/`)).toBe(404)
  })
})

describe.skipIf(!findProgram('redis-server'))('findTraces', () => {
  let stateDir: string
  let server: RedisServer
  let redis: Redis
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'traces-'))
    server = await startRedis({ stateDir })
    redis = new Redis(server.url)
  })
  afterEach(async () => {
    redis.disconnect()
    await server.stop()
    await rm(stateDir, { recursive: true, force: true })
  })

  const find = (demo: LabDemo) =>
    findTraces(demo, { redisUrl: server.url, keyPrefix: 'skylab', namespace: 'nublado-ada' })

  it('finds nothing when only keys with an expiry and keys of others are left', async () => {
    await redis.set('{skylab}:tombstone:ada', '7', 'PX', 600_000)
    await redis.set('{skylab}:lab:adam', 'another user')
    await redis.zadd('{skylab}:index', 2, 'adam')
    expect(await find(fakeDemo({}).demo)).toEqual([])
  })

  it('names everything that is left', async () => {
    await redis.set('{skylab}:lab:ada', 'record')
    await redis.zadd('{skylab}:owned', 1, 'ada')
    const { demo } = fakeDemo({ status: { status: 'terminating' }, kubectl: 'namespace/nublado-ada' })
    expect(await find(demo)).toEqual([
      'the lab is still known, as terminating',
      'namespace nublado-ada',
      'Redis key {skylab}:lab:ada without expiry',
      'ada in Redis key {skylab}:owned',
    ])
  })
})
