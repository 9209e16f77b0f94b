import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import type { Begun } from '../state/run-folder.ts'
import { killAll, living, markVariable, type Traces } from './processes.ts'

const tracesOf = (begun: Begun): Traces => ({ mark: `processes-test/${process.pid}`, begun, started: undefined })

it('killAll ends a child when its parent forks and ends during one look', async () => {
  const traces = tracesOf({ engine: 'process' })
  const child = spawn('sleep', ['60'], { env: { ...process.env, [markVariable]: traces.mark }, stdio: 'ignore' })
  await once(child, 'spawn')
  const exited = once(child, 'exit')
  let looks = 0
  // The first look finds the parent, which has ended, and not the child.
  const look = (of: Traces) => (looks++ === 0 ? [] : living(of))
  expect(await killAll(traces, systemClock, 30_000, look)).toBe(true)
  expect(living(traces)).toEqual([])
  child.kill('SIGKILL')
  expect(await exited).toEqual([null, 'SIGKILL'])
})

it('killAll kills the control group when no process was found', async () => {
  const cgroup = mkdtempSync(join(tmpdir(), 'skylab-group-'))
  expect(await killAll(tracesOf({ engine: 'process', cgroup }), systemClock, 30_000, () => [])).toBe(true)
  expect(readFileSync(join(cgroup, 'cgroup.kill'), 'utf8')).toBe('1')
  rmSync(cgroup, { recursive: true })
})
