import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { allRead } from './patience.ts'

/** Halts this process until a child has ended: what it has written waits in the pipe. */
function haltUntilEnded({ pid }: ChildProcess): void {
  while (!/^.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
}

function lengthOf(stream: Readable): () => number {
  let length = 0
  stream.on('data', (chunk: Buffer) => {
    length += chunk.length
  })
  return () => length
}

it('allRead reads what waits in the pipe when its process was halted for longer than it waits', async () => {
  const child = spawn('head', ['-c', '60000', '/dev/zero'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const length = lengthOf(child.stdout)
  haltUntilEnded(child)
  const clock = new ManualClock()
  let isLate = false
  const read = allRead([child.stdout], clock, () => {
    isLate = true
  })
  clock.advance(60_000)
  await read
  expect([length(), isLate, clock.sleeping]).toEqual([60_000, false, 0])
})

it('allRead gives output up when a process holds it open', async () => {
  const child = spawn('sh', ['-c', 'echo up; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const length = lengthOf(child.stdout)
  await once(child.stdout, 'data')
  const clock = new ManualClock()
  const late = Promise.withResolvers<void>()
  const read = allRead([child.stdout], clock, late.resolve)
  // Then a moment for what came meanwhile.
  for (const ms of [5000, 1]) {
    await clock.whenSleeping(ms)
    clock.advance(ms)
  }
  await Promise.all([late.promise, read])
  expect(length()).toBe('up\n'.length)
  child.kill('SIGKILL')
  await once(child, 'exit')
})
