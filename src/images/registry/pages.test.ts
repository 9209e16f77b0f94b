import { expect, it } from 'vitest'
import { TagPages } from './pages.ts'

it('holds each tag once, as it stood last', () => {
  const pages = new TagPages('r.example.org/lab', 2)
  const digest = `sha256:${'a'.repeat(64)}`
  for (const tag of [{ tag: 'a' }, { tag: 'b' }, { tag: 'a', digest }]) pages.add(tag)
  expect(pages.tags).toEqual([{ tag: 'a', digest }, { tag: 'b' }])
})

it('holds no more tags than it may', () => {
  const pages = new TagPages('r.example.org/lab', 1)
  pages.add({ tag: 'a' })
  expect(() => pages.add({ tag: 'b' })).toThrow('there are more than 1 tags of r.example.org/lab (images.maxTags)')
})

it('knows a circle', () => {
  const pages = new TagPages('r.example.org/lab', 1)
  pages.turn('')
  pages.turn('a')
  expect(() => pages.turn('')).toThrow('the pages of the tags of r.example.org/lab lead round in a circle')
})

it('does not go on for ever', () => {
  const pages = new TagPages('r.example.org/lab', 1)
  for (let page = 0; page < 10_000; page += 1) pages.turn(String(page))
  expect(() => pages.turn('one more')).toThrow('the tags of r.example.org/lab come in more than 10000 pages')
})
