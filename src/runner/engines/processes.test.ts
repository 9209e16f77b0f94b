import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { systemClock } from '../../base/clock.ts'
import { processIds, statOf } from '../../base/proc.ts'
import type { Begun } from '../state/run-folder.ts'
import { birthOf, killAll, look, markVariable, type Traces } from './processes.ts'

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

it('killAll ends a second later when strangers start programs at every look', async () => {
  const traces = tracesOf({ engine: 'process' })
  const clock = new ManualClock({ passBelowMs: 100 })
  expect(await killAll(traces, clock, 30_000, () => ({ found: [], isUnsure: true }))).toBe(true)
  expect(clock.monotonicMs()).toBe(2_020)
})

it('look is sure when a run has a control group', () => {
  expect(look(tracesOf({ engine: 'process', cgroup: '/nowhere' })).isUnsure).toBe(false)
})

it("look finds nothing of a stranger's session when its leader has the id, has ended and is not collected", async () => {
  // The leader leaves a child, and its parent waits for nobody.
  const shell = spawn('/bin/sh', ['-c', 'setsid sh -c "sleep 61 &" & exec sleep 60'], { stdio: 'ignore' })
  await once(shell, 'spawn')
  const ofSession = (leader: number | undefined) => processIds().filter(pid => statOf(pid)?.session === leader)
  const leader = () => processIds().find(pid => statOf(pid)?.parent === shell.pid && statOf(pid)?.session === pid)
  await expect.poll(() => statOf(leader() ?? 0)?.hasEnded, { timeout: 20_000 }).toBe(true)
  const pid = leader()!
  const [boot] = birthOf(process.pid).split(' ')
  const found = (birth: string) => look({ ...tracesOf({ engine: 'process' }), started: { pid, birth } }).found
  const children = ofSession(pid).filter(each => each !== pid)
  expect([found(`${boot} 1`), found(birthOf(pid))]).toEqual([[], children])
  for (const child of children) process.kill(child, 'SIGKILL')
  shell.kill('SIGKILL')
  await once(shell, 'exit')
})
