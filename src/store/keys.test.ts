import { describe, expect, it } from 'vitest'
import { type Family, Keys } from './keys.ts'

const keys = new Keys('s')

const allOf = (family: Family, name: string) => [
  ...[family.waiting, family.owned, family.deadlines, family.index, family.provisioned, family.counter],
  ...[family.record(name), family.events(name), family.tombstone(name), family.lease(name)],
  family.idempotency(name, 'h'),
]

describe('Keys.family', () => {
  it('leaves the keys of labs as they were before there were kinds', () => {
    expect(allOf(keys.family('lab'), 'ada')).toEqual([
      ...['{s}:waiting', '{s}:owned', '{s}:deadlines', '{s}:index', '{s}:provisioned', '{s}:lab-counter'],
      ...['{s}:lab:ada', '{s}:events:ada', '{s}:tombstone:ada', '{s}:lease:ada', '{s}:idempotency:ada:h'],
    ])
  })

  it('gives two kinds no key in common, whatever the names of their subjects', () => {
    const names = ['ada', 'toy', 'events', 'lab']
    const of = (kind: string) => names.flatMap(name => allOf(keys.family(kind), name))
    const all = new Set([...of('lab'), ...of('toy'), ...of('machine')])
    expect(all.size).toBe(3 * (6 + 5 * names.length))
  })

  it.each(['', 'Toy', 'a-b', 'a:b', 'events', 'lease', 'nonce'])('refuses the kind %j', kind => {
    expect(() => keys.family(kind)).toThrow('not a name for a kind')
  })
})
