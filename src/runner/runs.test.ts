import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { haltedAfter } from '../../test/kit/runner/halted.ts'
import { specOf, uuidOf, warrantOf } from '../../test/kit/runner/machine.ts'
import { Runs } from './runs.ts'
import { Lock } from './state/locks.ts'
import { Machine } from './state/machine.ts'
import { RunFolder } from './state/run-folder.ts'
import { Spool } from './state/spool.ts'

it('Runs lists no end without a beginning when a whole run comes between two of its looks', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'skylab-runs-'))
  const machine = await Machine.open(dir)
  const clock = new ManualClock()
  const listed = async (run: number) => {
    const folder = new RunFolder(machine.runsDir, uuidOf(1), run)
    folder.create(warrantOf(uuidOf(1), run, specOf('true')))
    const lock = await Lock.take(machine.lockName(folder.uuid, run))
    const halted = haltedAfter(folder, run, () => {
      const spool = new Spool({ folder, clock, mostBytes: 10_000, onWritten: () => {} })
      spool.started({})
      spool.ended({ exitCode: 0 })
    })
    const found = await new Runs(machine, clock).listed(halted)
    lock!.free()
    return found
  }
  const all = [await listed(1), await listed(2), await listed(3), await listed(4)]
  expect(all.filter(found => found?.end && found.startedMs === undefined)).toEqual([])
  // The run came after the first looks at its end.
  expect(all.map(found => found?.state)).toContain('ended')
  rmSync(dir, { recursive: true })
})
