import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { haltedAfter } from '../../../test/kit/runner/halted.ts'
import { specOf, uuidOf, warrantOf } from '../../../test/kit/runner/machine.ts'
import { Past } from './past.ts'
import { type Numbered, RunFolder } from './run-folder.ts'
import { Slots } from './slots.ts'
import { Spool } from './spool.ts'
import { lastSeq, SpoolReader } from './spool-reader.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-store-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('Slots', () => {
  it('reads a torn page as empty, and leaves the others', () => {
    const path = join(folder, 'slots')
    Slots.create(path, 2, { 0: { a: 1 } })
    Slots.with(path, slots => {
      slots.write(1, { b: 'x'.repeat(100) }, { lasting: true })
      expect([slots.read(0), slots.read(1)]).toEqual([{ a: 1 }, { b: 'x'.repeat(100) }])
    })
    truncateSync(path, 4096 + 50)
    Slots.with(path, slots => expect([slots.read(0), slots.read(1)]).toEqual([{ a: 1 }, undefined]))
  })
})

describe('Past', () => {
  it('remembers the highest run, over processes', () => {
    const [one, other] = [new Past(join(folder, 'past')), new Past(join(folder, 'past'))]
    expect(other.of(uuidOf(1))).toEqual({ run: 0, begun: false })
    one.add(uuidOf(1), { run: 5, begun: false })
    one.add(uuidOf(1), { run: 4, begun: true })
    expect(other.of(uuidOf(1))).toEqual({ run: 5, begun: false })
    other.add(uuidOf(1), { run: 5, begun: true })
    expect([one.of(uuidOf(1)), one.highest]).toEqual([{ run: 5, begun: true }, 5])
  })

  it('leaves out a line that a crash has torn, and reads the next one', () => {
    const path = join(folder, 'past')
    new Past(path).add(uuidOf(1), { run: 5, begun: true })
    appendFileSync(path, `${uuidOf(2)} 12`)
    const past = new Past(path)
    expect(past.of(uuidOf(2)).run).toBe(0)
    past.add(uuidOf(3), { run: 7, begun: true })
    expect([new Past(path).of(uuidOf(3)).run, new Past(path).of(uuidOf(1)).run]).toEqual([7, 5])
  })

  it('refuses older runs of names that it has dropped, by a floor', () => {
    const past = new Past(join(folder, 'past'), 10)
    for (let i = 1; i <= 11; i++) past.add(uuidOf(i), { run: i * 10, begun: true })
    const read = new Past(join(folder, 'past'), 10)
    expect([past.of(uuidOf(1)), read.of(uuidOf(1)), read.of(uuidOf(99)), read.of(uuidOf(11))]).toEqual([
      { run: 60, begun: true },
      { run: 60, begun: true },
      { run: 60, begun: true },
      { run: 110, begun: true },
    ])
  })

  it('remembers how a run ended, over compactions', () => {
    const path = join(folder, 'ends')
    const past = new Past(path, 4)
    past.add(uuidOf(1), { run: 5, begun: true, end: { atMs: 17, exitCode: 3 } })
    past.add(uuidOf(2), { run: 6, begun: true, end: { atMs: 18, timedOut: true } })
    for (let run = 7; run <= 30; run++) past.add(uuidOf(3), { run, begun: true })
    const read = new Past(path, 4)
    expect(read.of(uuidOf(1))).toEqual({ run: 5, begun: true, end: { atMs: 17, exitCode: 3 } })
    expect(read.of(uuidOf(2)).end).toEqual({ atMs: 18, timedOut: true })
    expect(read.of(uuidOf(3))).toEqual({ run: 30, begun: true })
  })

  it('keeps its file small when one container has many runs', () => {
    const past = new Past(join(folder, 'past'), 10)
    for (let run = 1; run <= 100; run++) past.add(uuidOf(1), { run, begun: true })
    expect(readFileSync(join(folder, 'past'), 'utf8').split('\n').length).toBeLessThan(50)
    expect(past.of(uuidOf(1)).run).toBe(100)
    expect(past.of(uuidOf(2)).run).toBe(0)
  })
})

describe('Spool', () => {
  const read = async (run: RunFolder, after = 0) => {
    const reader = new SpoolReader(run, after)
    const all: Numbered[] = []
    for await (const entries of reader.read()) all.push(...entries)
    await reader.close()
    return all
  }
  const make = () => {
    const run = new RunFolder(folder, uuidOf(1), 1)
    run.create(warrantOf(uuidOf(1), 1, specOf('true')))
    const clock = new ManualClock()
    const written: number[] = []
    const spool = new Spool({ folder: run, clock, mostBytes: 10_000_000, onWritten: seq => written.push(seq) })
    return { run, clock, spool, written }
  }

  it('joins small writes of one stream, in order', async () => {
    const { run, clock, spool, written } = make()
    spool.started({})
    for (const text of ['a', 'b']) spool.output('stdout', Buffer.from(text))
    spool.output('stderr', Buffer.from('c'))
    clock.advance(50)
    spool.ended({ exitCode: 0 })
    const all = await read(run)
    expect(all.map(({ seq, entry }) => [seq, entry.kind === 'output' ? atob(entry.base64) : entry.kind])).toEqual([
      [1, 'running'],
      [2, 'ab'],
      [3, 'c'],
      [4, 'ended'],
    ])
    expect(written).toEqual([1, 3, 4])
    expect(await read(run, 2)).toEqual(all.slice(2))
    expect(await lastSeq(run)).toBe(4)
  })

  it('is read over segments, past a torn line, and after acknowledged ones were removed', async () => {
    const { run, spool } = make()
    spool.started({})
    for (let i = 0; i < 100; i++) spool.output('stdout', Buffer.alloc(32 * 1024, i))
    spool.flush()
    const segments = run.segments()
    expect(segments.length).toBeGreaterThan(3)
    appendFileSync(segments.at(-1)!.path, '{"seq":102,"entr')
    expect((await read(run)).map(({ seq }) => seq)).toEqual(Array.from({ length: 101 }, (_, i) => i + 1))
    expect(await lastSeq(run)).toBe(101)
    rmSync(segments[0]!.path)
    const from = segments[1]!.first
    expect((await read(run, from - 1)).map(({ seq }) => seq)[0]).toBe(from)
  })
})

describe('SpoolReader', () => {
  it('skips nothing when a whole run comes between two of its reads', async () => {
    const run = new RunFolder(folder, uuidOf(1), 5)
    run.create(warrantOf(uuidOf(1), 5, specOf('')))
    const runWhole = () => {
      const spool = new Spool({ folder: run, clock: new ManualClock(), mostBytes: 10_000, onWritten: () => {} })
      spool.started({})
      spool.output('stdout', Buffer.from('all'))
      spool.ended({ exitCode: 0 })
    }
    // Halted after the first look, whichever that is.
    const halted = haltedAfter(run, 1, runWhole)
    const reader = new SpoolReader(halted, 0)
    const kinds: string[] = []
    for (let round = 0; round < 2; round++)
      for await (const entries of reader.read()) kinds.push(...entries.map(({ entry }) => entry.kind))
    expect([kinds, reader.isOver]).toEqual([['running', 'output', 'ended'], true])
  })
})

describe('RunFolder', () => {
  it('reads no other names than those of runs', () => {
    for (const name of ['x', `${uuidOf(1)}.01`, `${uuidOf(1)}.1.2`, `${uuidOf(1)}.0`])
      writeFileSync(join(folder, name), '')
    expect(RunFolder.all(folder)).toEqual([])
  })
})
