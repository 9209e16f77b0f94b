import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadSettings } from '../../src/settings/load.ts'
import { makeUsers, stackConfig, writeConfig } from './config.ts'

describe('makeUsers', () => {
  it('has ada, grace and admin for every number', () => {
    expect(Object.keys(makeUsers(0))).toEqual(['ada', 'grace', 'admin'])
    expect(Object.keys(makeUsers(5))).toEqual(['ada', 'grace', 'admin', 'user-004', 'user-005'])
  })

  it('gives each user a token and a UID, and only admin rights over others', () => {
    const users = Object.entries(makeUsers(20))
    expect(new Set(users.map(([, user]) => user.token)).size).toBe(20)
    expect(new Set(users.map(([, user]) => user.uid)).size).toBe(20)
    const admins = users.filter(([, user]) => user.scopes.includes('admin:jupyterlab'))
    expect(admins.map(([name]) => name)).toEqual(['admin'])
  })
})

describe('writeConfig', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stack-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const plan = {
    redisUrl: 'redis://127.0.0.1:7000',
    kubeconfig: '/dev/null',
    images: { registry: '127.0.0.1:5000' },
    labsOnKwok: true,
  }

  it('writes a configuration that replicas accept, with a token for each user', async () => {
    const users = makeUsers(4)
    const settings = await loadSettings(await writeConfig(folder, stackConfig(plan), users), {})
    expect(settings.config.redis.url).toBe(plan.redisUrl)
    expect(settings.config.lab.nodeSelector).toEqual({ type: 'kwok' })
    expect(settings.tokens.map(({ username, token }) => [username, token])).toEqual(
      Object.entries(users).map(([name, { token }]) => [name, token]),
    )
    expect(settings.tokens[0]).toMatchObject({ uid: 4_000_000, gid: 4_000_000 })
  })

  it('lets a caller change single keys', async () => {
    const config = stackConfig({ ...plan, labsOnKwok: false, overrides: { engine: { leaseTtlMs: 3000 } } })
    const { config: loaded } = await loadSettings(await writeConfig(folder, config, makeUsers(3)), {})
    expect(loaded.engine.leaseTtlMs).toBe(3000)
    expect(loaded.lab.nodeSelector).toEqual({})
  })
})
