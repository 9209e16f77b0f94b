import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import type { Begun } from '../state/run-folder.ts'
import { killAll, look, markVariable, type Traces } from './processes.ts'

const tracesOf = (begun: Begun): Traces => ({ mark: `processes-test/${process.pid}`, begun, started: undefined })
const nothing = { found: [], isUnsure: false }

it('killAll ends a child when its parent forks and ends during one look', async () => {
  const traces = tracesOf({ engine: 'process' })
  const child = spawn('sleep', ['60'], { env: { ...process.env, [markVariable]: traces.mark }, stdio: 'ignore' })
  await once(child, 'spawn')
  const exited = once(child, 'exit')
  let looks = 0
  // The first look finds the parent, which has ended, and not the child.
  const seen = (of: Traces) => (looks++ === 0 ? nothing : look(of))
  expect(await killAll(traces, systemClock, 30_000, seen)).toBe(true)
  expect(look(traces).found).toEqual([])
  child.kill('SIGKILL')
  expect(await exited).toEqual([null, 'SIGKILL'])
})

it('killAll kills the control group when no process was found', async () => {
  const cgroup = mkdtempSync(join(tmpdir(), 'skylab-group-'))
  expect(await killAll(tracesOf({ engine: 'process', cgroup }), systemClock, 30_000, () => nothing)).toBe(true)
  expect(readFileSync(join(cgroup, 'cgroup.kill'), 'utf8')).toBe('1')
  rmSync(cgroup, { recursive: true })
})

it('killAll looks again when a process was starting a program', async () => {
  const traces = tracesOf({ engine: 'process' })
  const looks = [nothing, { found: [], isUnsure: true }, nothing, nothing, 'too many' as never]
  expect(await killAll(traces, systemClock, 30_000, () => looks.shift()!)).toBe(true)
  expect(looks).toEqual(['too many'])
})

it('killAll ends when strangers start programs at every look until its limit', async () => {
  const traces = tracesOf({ engine: 'process' })
  expect(await killAll(traces, systemClock, 50, () => ({ found: [], isUnsure: true }))).toBe(true)
})
