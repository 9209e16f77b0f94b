import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { tryLock, withLock } from './lock.ts'

let names = 0
const newName = () => `test ${process.pid} ${names++}`

/** Another process that has the lock. */
async function startHolder(name: string) {
  const lockFile = JSON.stringify(fileURLToPath(new URL('./lock.ts', import.meta.url)))
  const code = `const { tryLock } = await import(${lockFile})
    console.log(await tryLock(${JSON.stringify(name)}) ? 'held' : 'refused')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { child, says: String(line).trim() }
}

test('tryLock gives a lock to one holder at a time, and again after its release', async () => {
  const name = newName()
  const lock = await tryLock(name)
  expect(lock).not.toBeNull()
  expect(await tryLock(name)).toBeNull()
  await lock?.release()
  const again = await tryLock(name)
  expect(again).not.toBeNull()
  await again?.release()
})

test('tryLock keeps locks of different names apart', async () => {
  const locks = await Promise.all([tryLock(newName()), tryLock(newName())])
  expect(locks).not.toContain(null)
  await Promise.all(locks.map(lock => lock?.release()))
})

test('withLock runs waiting work in turn, after the former holder', async () => {
  const name = newName()
  const story: string[] = []
  const work = (holder: string) => async () => {
    story.push(`${holder} begins`)
    await new Promise(resolve => setImmediate(resolve))
    story.push(`${holder} ends`)
  }
  const waited: string[] = []
  const all = ['a', 'b', 'c'].map(holder => withLock(name, work(holder), { onWait: () => waited.push(holder) }))
  await Promise.all(all)
  expect(waited).toHaveLength(2)
  for (let i = 0; i < 6; i += 2) expect(story[i]?.[0]).toBe(story[i + 1]?.[0])
})

test('withLock releases the lock when the work fails', async () => {
  const name = newName()
  await expect(withLock(name, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await withLock(name, async () => 'done')).toBe('done')
})

test('tryLock excludes other processes until they end, even by a kill', async () => {
  const name = newName()
  const { child, says } = await startHolder(name)
  try {
    expect(says).toBe('held')
    const mine = withLock(name, async () => 'mine', { onWait: () => child.kill('SIGKILL') })
    expect(await mine).toBe('mine')
  } finally {
    child.kill('SIGKILL')
  }
})

test('withLock stops waiting when the signal is aborted', async () => {
  const name = newName()
  const lock = await tryLock(name)
  const controller = new AbortController()
  const onWait = () => setImmediate(() => controller.abort(new Error('enough')))
  await expect(withLock(name, async () => {}, { signal: controller.signal, onWait })).rejects.toThrow('enough')
  await lock?.release()
})
