import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { createProgress, formatSeconds, readDurations, rememberDuration } from './progress.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'progress-'))
  file = join(folder, 'deep', 'durations.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** All that is waited for passes at once. */
const clockOfTest = () => new ManualClock({ passBelowMs: Number.POSITIVE_INFINITY })

function recorder(isTTY = false) {
  let text = ''
  const out = { isTTY, columns: 60, write: (part: string) => (text += part) }
  return { out, text: () => text }
}

test('part prints its name, its last duration and its duration', async () => {
  rememberDuration(file, 'build etcd', 42)
  const clock = clockOfTest()
  const { out, text } = recorder()
  const progress = createProgress({ clock, durationsFile: file, out })
  expect(await progress.part('build etcd', () => clock.sleep(3_210).then(() => 'result'))).toBe('result')
  expect(text()).toBe('… build etcd (last time 42 s)\n✓ build etcd  3.2 s\n')
  expect(readDurations(file)).toEqual({ 'build etcd': 3.21 })
})

test('part prints a failure, rejects with it, and does not remember the duration', async () => {
  const { out, text } = recorder()
  const progress = createProgress({ clock: clockOfTest(), durationsFile: file, out })
  await expect(progress.part('break', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(text()).toContain('✗ break')
  expect(readDurations(file)).toEqual({})
  expect(progress.done()).toEqual([])
})

test('summary lists the parts in the order of their ends', async () => {
  const clock = clockOfTest()
  const { out, text } = recorder()
  const progress = createProgress({ clock, durationsFile: file, out })
  await progress.part('outer', async () => {
    await progress.part('inner', () => clock.sleep(1000))
    await clock.sleep(20_000)
  })
  progress.summary()
  expect(progress.done()).toEqual([
    { name: 'inner', seconds: 1 },
    { name: 'outer', seconds: 21 },
  ])
  expect(text()).toContain('What was done:\n  inner    1.0 s\n  outer     21 s\n')
})

test('part shows the running parts in the last line of a terminal, no wider than that', async () => {
  const clock = clockOfTest()
  const { out, text } = recorder(true)
  const progress = createProgress({ clock, durationsFile: file, out })
  await progress.part('a name that is far too long for the line of a terminal of sixty columns', async () => {})
  const line = text().split('\r\x1b[K')[1]
  expect(line).toHaveLength(59)
  expect(text().endsWith('\n')).toBe(true)
})

test('rememberDuration keeps durations of other runs, and replaces a broken file', () => {
  rememberDuration(file, 'one', 1)
  rememberDuration(file, 'two', 2)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ one: 1, two: 2 })
  writeFileSync(file, '{"one": 1, "broken": "text"')
  expect(readDurations(file)).toEqual({})
  writeFileSync(file, '{"one": 1, "broken": "text"}')
  expect(readDurations(file)).toEqual({ one: 1 })
})

test('formatSeconds prints a decimal only below 10 s', () => {
  expect([0.04, 9.94, 139.4].map(formatSeconds)).toEqual(['0.0 s', '9.9 s', '139 s'])
})
