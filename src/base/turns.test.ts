import { expect, it } from 'vitest'
import { Turns } from './turns.ts'

const filled = (...members: string[]) => {
  const turns = new Turns<string>()
  for (const member of members) turns.set(member[0]!, member, member)
  return turns
}

const all = (turns: Turns<string>) => {
  const taken: string[] = []
  for (let next = turns.take(); next !== undefined; next = turns.take()) taken.push(next)
  return taken
}

it('Turns takes one of each group by turns, the oldest first', () => {
  const turns = filled('a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2')
  expect(turns.size).toBe(7)
  expect(all(turns)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4'])
  expect([turns.size, turns.first]).toEqual([0, undefined])
})

it('Turns lets a group that comes later wait for one turn of each other', () => {
  const turns = filled('a1', 'a2', 'a3', 'b1', 'b2')
  expect(turns.take()).toBe('a1')
  turns.set('c', 'c1', 'c1')
  expect(all(turns)).toEqual(['b1', 'a2', 'c1', 'b2', 'a3'])
})

it('Turns gives a member that waits another value at its place', () => {
  const turns = filled('a1', 'a2')
  turns.set('a', 'a1', 'new')
  expect([turns.get('a', 'a1'), turns.get('b', 'a1'), turns.first]).toEqual(['new', undefined, 'new'])
  expect(all(turns)).toEqual(['new', 'a2'])
})

it('Turns forgets all when it is cleared', () => {
  const turns = filled('a1', 'b1')
  turns.clear()
  expect([turns.size, turns.take()]).toEqual([0, undefined])
})
