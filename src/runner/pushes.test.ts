import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { specOf, uuidOf, warrantOf } from '../../test/kit/runner/machine.ts'
import { Pushes } from './pushes.ts'
import { Machine } from './state/machine.ts'
import { RunFolder } from './state/run-folder.ts'

it('Pushes looks again at a run whose supervisor is lost after it was looked at', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'skylab-pushes-'))
  const machine = await Machine.open(dir)
  const folder = new RunFolder(machine.runsDir, uuidOf(1), 1)
  folder.create(warrantOf(uuidOf(1), 1, specOf('true')))
  const clock = new ManualClock()
  const told = Promise.withResolvers<unknown>()
  let looks = 0
  const runs = {
    all: () => [folder],
    // The first look finds a supervisor.
    settle: async () => {
      looks += 1
      if (looks === 2)
        folder.setEnded({ entries: [{ seq: 1, entry: { kind: 'ended', atMs: 1, end: {} } }], isStale: true })
    },
    standing: async () => (looks === 1 ? ('lost' as const) : ('ended' as const)),
  }
  const pushes = new Pushes({
    clock,
    machine,
    runs,
    send: async message => told.resolve(message),
    onFailure: told.reject,
  })
  pushes.start()
  while (looks < 2) {
    clock.advance(100)
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(await told.promise).toMatchObject({ entry: { kind: 'ended' } })
  pushes.stop()
  rmSync(dir, { recursive: true })
})
