import { expect, it } from 'vitest'
import { Turns } from './turns.ts'

/** All that can go on has gone on. */
const settled = () => new Promise(resolve => setImmediate(resolve))

/** Requests that are worked on until they are ended. */
function works(turns: Turns) {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const ask = (username: string, name: string) =>
    turns.take(username, () => {
      begun.push(name)
      return new Promise<void>(resolve => ends.set(name, resolve))
    })
  return { begun, ask, end: (name: string) => ends.get(name)?.() }
}

it('keeps further requests of a user waiting, in their order, and nobody else', async () => {
  const turns = new Turns(2)
  const { begun, ask, end } = works(turns)
  const first = ask('ada', 'a1')
  const all = ['a2', 'a3', 'a4'].map(name => ask('ada', name))
  all.push(ask('bob', 'b1'))
  await settled()
  expect(begun).toEqual(['a1', 'a2', 'b1'])
  end('a1')
  await first
  await settled()
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3'])
  for (const name of ['b1', 'a2', 'a3']) end(name)
  await Promise.all([all[0], all[1], all[3]])
  await settled()
  expect(begun.at(-1)).toBe('a4')
  end('a4')
  await all[2]
})

it('gives the turn on when the work fails, and forgets users who have no request', async () => {
  const turns = new Turns(1)
  const failing = turns.take('ada', () => Promise.reject(new Error('refused')))
  const next = turns.take('ada', async () => 'done')
  expect(turns.users).toBe(1)
  await expect(failing).rejects.toThrow('refused')
  await expect(next).resolves.toBe('done')
  expect(turns.users).toBe(0)
})
