import { expect, it } from 'vitest'
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
