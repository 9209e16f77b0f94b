import { getHeapStatistics } from 'node:v8'
import { expect, it } from 'vitest'
import { collectGarbage } from '../../test/kit/garbage.ts'
import { lowerOf, remembered } from './remembered.ts'

it('remembered makes the same of each text, and makes it once for short ones', () => {
  const made: string[] = []
  const of = remembered(text => {
    made.push(text)
    return text === 'yes'
  })
  const long = 'x'.repeat(65)
  expect(['yes', 'no', 'yes', 'no', long, long].map(of)).toEqual([true, false, true, false, false, false])
  expect(made).toEqual(['yes', 'no', long, long])
})

it('remembered makes the same of longer texts once when it may', () => {
  let made = 0
  const of = remembered(text => {
    made += 1
    return text.length
  }, 100)
  expect([100, 100, 101, 101].map(length => of('x'.repeat(length)))).toEqual([100, 100, 101, 101])
  expect(made).toBe(3)
})

it.each(['x', 'é', '€', '\ud800'])('remembered makes the same of a part of a text that has %j', part => {
  const of = remembered(text => `<${text}>`)
  const text = `--${part.repeat(20)}--`.slice(2, -2)
  expect([text, text].map(of)).toEqual([`<${text}>`, `<${text}>`])
})

it.each(['x', '€'])('remembered keeps no header in memory whose part it knows, with %j', async part => {
  const of = remembered(text => text)
  const fill = () => {
    for (let i = 0; i < 1000; i++)
      of(
        Buffer.from(`${i} ${part.repeat(16_000)}`)
          .toString()
          .slice(0, 20),
      )
  }
  await collectGarbage()
  const before = getHeapStatistics().used_heap_size
  fill()
  await collectGarbage()
  expect(getHeapStatistics().used_heap_size - before).toBeLessThan(4_000_000)
})

it('remembered keeps no more than some thousand texts', () => {
  let made = 0
  const of = remembered(text => {
    made += 1
    return text
  })
  for (let i = 0; i < 2001; i++) of(`${i}`)
  expect([of('2000'), of('0'), made]).toEqual(['2000', '0', 2002])
})

it('lowerOf is the text in lower case', () => {
  expect(['X-A', 'x-a', 'É', ''].map(lowerOf)).toEqual(['x-a', 'x-a', 'é', ''])
})
