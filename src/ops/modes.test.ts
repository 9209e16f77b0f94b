import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Mode, type ModeEvent, Modes } from './modes.ts'

/** Events that lead a new engine into each mode. */
const ways: Readonly<Record<Mode, readonly ModeEvent[]>> = {
  idle: ['begun', 'answered', 'ended'],
  crowded: ['begun', 'answered', 'missed', 'ended'],
  heard: [],
  looking: ['begun', 'answered'],
  closed: ['drained'],
}

function modeAfter(...events: readonly ModeEvent[]): Mode {
  const modes = new Modes()
  for (const event of events) modes.on(event)
  return modes.mode
}

/** The table at the head of engine.ts: [event, mode before, mode after]. */
function table(): [ModeEvent, Mode, Mode][] {
  const head = readFileSync(new URL('engine.ts', import.meta.url), 'utf8').split('\n */')[0]!
  const [names, , ...rows] = [...head.matchAll(/^ \* \| (.+) \|$|^ \* \|(-.+)\|$/gm)].map(([, row]) =>
    row?.split(' | '),
  )
  return rows.flatMap(row => row!.slice(1).map((mode, i) => [row![0], names![i + 1], mode] as [ModeEvent, Mode, Mode]))
}

describe('Modes', () => {
  it('begins with a look', () => {
    expect(modeAfter()).toBe('heard')
  })

  it.each(Object.entries(ways))('can reach %s', (mode, way) => {
    expect(modeAfter(...way)).toBe(mode)
  })

  it('has a case for every cell of the table in engine.ts', () => {
    expect(table()).toHaveLength(6 * 5)
  })

  it.each(table())('%s leads from %s to %s', (event, before, mode) => {
    // A new engine begins in `heard`; the table assumes that nothing was missed yet.
    const way: readonly ModeEvent[] = before === 'heard' ? [...ways.crowded, 'woken'] : ways[before]
    expect(modeAfter(...way, event)).toBe(mode)
  })

  it('ends a look crowded when it missed something, and looks again after a ring during it', () => {
    expect(modeAfter('begun', 'answered', 'missed', 'ended')).toBe('crowded')
    expect(modeAfter('begun', 'answered', 'missed', 'woken', 'ended')).toBe('heard')
  })

  it('looks again when a slot came free during a look and that look or the one before missed something', () => {
    expect(modeAfter('begun', 'answered', 'missed', 'freed', 'ended')).toBe('heard')
    expect(modeAfter(...ways.crowded, 'begun', 'freed', 'ended')).toBe('heard')
    expect(modeAfter(...ways.crowded, 'begun', 'answered', 'freed', 'ended')).toBe('idle')
  })

  it('stays crowded when a look had no answer', () => {
    expect(modeAfter(...ways.crowded, 'begun', 'ended')).toBe('crowded')
  })
})
