import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Family } from './family.ts'
import { Keys } from './keys.ts'

const keys = new Keys('s')

const allOf = (family: Family, name: string) => [
  ...[family.waiting, family.owned, family.deadlines, family.index, family.lastEpoch, family.nonce('n')],
  ...[family.record(name), family.events(name), family.tombstone(name), family.lease(name)],
  family.idempotency(name, 'h'),
]

describe('Keys.family', () => {
  it('gives labs the keys that they had before there were kinds', () => {
    expect(allOf(keys.family('lab'), 'ada')).toEqual([
      ...['{s}:waiting', '{s}:owned', '{s}:deadlines', '{s}:index', '{s}:lab-epoch', '{s}:nonce:n'],
      ...['{s}:lab:ada', '{s}:events:ada', '{s}:tombstone:ada', '{s}:lease:ada', '{s}:idempotency:ada:h'],
    ])
  })

  it('gives two kinds no key in common, whatever the names of their subjects', () => {
    const names = ['ada', 'toy', 'events', 'lab']
    const of = (kind: string) => names.flatMap(name => allOf(keys.family(kind), name))
    const all = new Set([...of('lab'), ...of('toy'), ...of('machine')])
    expect(all.size).toBe(3 * (6 + 5 * names.length))
  })

  it('shares generation and hold of labs among all kinds', () => {
    const { generation, hold } = keys.family('toy')
    expect([generation, hold]).toEqual([keys.generation, keys.hold])
  })

  it('gives dispatch a compare and a counter of its own', () => {
    for (const kind of ['instance', 'container']) {
      const { generation, hold, lastEpoch } = keys.family(kind)
      expect([generation, hold, lastEpoch]).toEqual([
        ...['{s}:dispatch-generation', '{s}:dispatch-hold', '{s}:dispatch-last'],
      ])
    }
  })

  const reserved = [
    ...['events', 'tombstone', 'lease', 'nonce', 'idempotency', 'catalogue', 'digests'],
    ...['due', 'activity', 'gw'],
  ]

  it.each(['', 'Toy', 'a-b', 'a:b', ...reserved])('refuses the kind %j', kind => {
    expect(() => keys.family(kind)).toThrow('not a name for a kind')
  })

  it('refuses the first word of every other key with a name in it', () => {
    const table = readFileSync(new URL('keys.ts', import.meta.url), 'utf8')
    const words = [...table.matchAll(/^ \* \| ([a-z]+):/gm)].map(([, word]) => word!)
    expect([...new Set(words)].filter(word => !['lab', 'app', 'container'].includes(word)).sort()).toEqual(
      reserved.toSorted(),
    )
  })
})
