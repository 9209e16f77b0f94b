/** Sealing keys that are rotated, lost or wrong, and plans stored under the wrong user. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import { giveKeys } from '../../kit/fleet/configure.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))
const point = 'lab.create.make.secret.before-act'
const startLimitMs = 60_000

/** Waits until a replica has started, and reports that it is not ready without the key. */
async function lacksKey(fleet: Fleet, index: number): Promise<void> {
  const saysSo = async () => {
    const response = await fetch(`${fleet.monitoringUrl(index)}/readyz`)
    return response.status === 503 && /sealing key of the other/.test(await response.text())
  }
  await eventually('a replica that lacks the key', saysSo, startLimitMs)
}

/** A creation with a sealed plan, owned by replica `index`. */
async function begin(fleet: Fleet, user: Client, index: number) {
  const arm = await wave.halfMade(fleet, user, fleet.url(index), point)
  return { user, arm, sealed: (await fleet.world.redis.hget(fleet.world.keys.record(user.username), 'plan'))! }
}

async function restart(fleet: Fleet, index: number, keys: readonly Buffer[]): Promise<void> {
  giveKeys(fleet, index, keys)
  await fleet.start(index, { ready: false })
}

/** Replicas without each other's keys would strand each other's creations. */
async function wrongThenRotated(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ replicas: 2 })
  const older = Buffer.from(await readFile(join(fleet.stateDir, 'sealing.key'), 'utf8'), 'base64')
  const newer = randomBytes(32)
  const { keys, redis } = fleet.world
  trial.injected(3)

  await fleet.kill(1)
  await restart(fleet, 1, [newer])
  await lacksKey(fleet, 1)
  const refused = await fleet.user().at(fleet.url(1)).create()
  expect([refused.status, refused.body.detail[0]?.msg]).toEqual([503, expect.stringContaining('lacks the key')])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await redis.zcard(keys.index)).toBe(0)
  expect(await fleet.log(1)).toContain('not in sealing.keyFiles')
  trial.landed()

  await fleet.kill(1)
  const { user, arm, sealed } = await begin(fleet, fleet.user(), 0)
  await restart(fleet, 1, [newer, older])
  await fleet.ready()
  const following = user.at(fleet.url(1)).follow()
  await fleet.kill(0)
  arm.disarm()
  expect((await following).outcome).toBe('complete')
  trial.landed()

  // No creation in between. Then the replica is away, so that the other one owns the next creation.
  await restart(fleet, 0, [newer])
  await fleet.ready()
  await fleet.kill(0)
  const next = await begin(fleet, fleet.user(), 1)
  expect(next.sealed.split('.')[1]).not.toBe(sealed.split('.')[1])
  await restart(fleet, 0, [newer])
  await fleet.ready()
  await fleet.kill(1)
  expect((await next.user.follow()).outcome).toBe('complete')
  trial.landed()
  await wave.expectNothingLeft(fleet, [user, next.user])
}

if (isWhole) attack('P8 a wrong sealing key, then a rotation', wrongThenRotated, { concurrent: true, limitMs: 300_000 })

/** No replica has the key any more that sealed a creation. */
async function lost(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ replicas: 2 })
  const { user, arm } = await begin(fleet, fleet.user(), 0)
  trial.injected()
  await Promise.all([fleet.kill(0), fleet.kill(1)])
  arm.disarm()
  const key = randomBytes(32)
  const { keys, redis } = fleet.world
  // Otherwise a slow machine would start replicas after the key was forgotten.
  await redis.persist(keys.sealing)
  await Promise.all([0, 1].map(index => restart(fleet, index, [key])))
  await lacksKey(fleet, 0)
  await redis.pexpire(keys.sealing, wave.ttlMs)
  await fleet.ready()
  const { outcome, errors } = await user.follow()
  expect([outcome, errors.at(-1)]).toEqual(['failed', expect.stringContaining('a key that this replica does not have')])
  trial.landed()
  expect(await fleet.world.namespaceOf(user.username)).toBeNull()
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
  await wave.expectNothingLeft(fleet, [user])
}

attack('P8 the sealing key lost', lost, { concurrent: true, limitMs: 300_000 })

/** The plans of two users are swapped in Redis, and their owner dies. */
async function swapped(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ replicas: 2 })
  await fleet.kill(1)
  const both = await Promise.all([fleet.user(), fleet.user()].map(user => begin(fleet, user, 0)))
  const { keys, redis } = fleet.world
  trial.injected(both.length)
  for (const [i, { user }] of both.entries()) {
    await redis.hset(keys.record(user.username), 'plan', both[1 - i]!.sealed)
  }
  await fleet.kill(0)
  for (const { arm } of both) arm.disarm()
  await fleet.start(1)
  for (const { user } of both) {
    const { outcome, errors } = await user.follow()
    expect([outcome, errors.at(-1)]).toEqual(['failed', expect.stringContaining('does not open')])
    const writes = await fleet.audit.writesOf(fleet.namespace(user.username))
    // Requests that the killed owner had sent may be recorded later.
    const made = writes.filter(({ verb, replica }) => verb === 'create' && replica === 'replica-2')
    expect(made).toEqual([])
    trial.landed()
  }
  await wave.expectNothingLeft(
    fleet,
    both.map(({ user }) => user),
  )
}

attack('P8 plans put in each other’s place', swapped, { concurrent: true, limitMs: 300_000 })

const useless: readonly [name: string, sealing: string, key: Buffer | string | undefined, words: string][] = [
  ['none', '{}', undefined, 'sealing.keyFiles: no sealing key'],
  [
    'a file that is not there',
    '{keyFiles: [a.key]}',
    undefined,
    'sealing.keyFiles.0: the file cannot be read (ENOENT)',
  ],
  ['too short', '{keyFiles: [a.key]}', randomBytes(31), 'sealing.keyFiles.0: not 32 bytes in base64'],
  ['no base64', '{keyFiles: [a.key]}', `${'!'.repeat(43)}=`, 'sealing.keyFiles.0: not 32 bytes in base64'],
]

/** A process without a usable key never listens: one line names the wrong field, and shows nothing of the key. */
async function unusable(trial: Trial): Promise<void> {
  for (const [name, sealing, key, words] of useless) {
    trial.injected()
    const folder = await mkdtemp(join(tmpdir(), 'skylab-test-'))
    try {
      const file = join(folder, 'skylab.yaml')
      await writeFile(join(folder, 'tokens.yaml'), 'tokens: []')
      await writeFile(file, `identity: {static: {file: tokens.yaml}}\nsealing: ${sealing}\n`)
      const text = typeof key === 'string' ? key : key?.toString('base64')
      if (text !== undefined) await writeFile(join(folder, 'a.key'), text)
      const { code, output } = await serve(file)
      expect([name, code, output]).toEqual([name, 2, expect.stringContaining(words)])
      if (text !== undefined) expect(output).not.toContain(text)
      trial.landed()
    } finally {
      await rm(folder, { recursive: true })
    }
  }
}

const serve = (file: string) =>
  new Promise<{ code: unknown; output: string }>(resolve => {
    const { SKYLAB_SEALING_KEY: _, ...env } = process.env
    execFile(process.execPath, [main, 'serve', '--config', file], { env }, (error, stdout, stderr) => {
      resolve({ code: error?.code, output: stdout + stderr })
    })
  })

attack('P8 no sealing key that could be used', unusable, { concurrent: true, limitMs: 300_000 })
