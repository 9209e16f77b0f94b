import { expect, it } from 'vitest'
import { TagPages } from './pages.ts'

it('TagPages keeps each tag once, in its latest form', () => {
  const pages = new TagPages('r.example.org/lab', 2)
  const digest = `sha256:${'a'.repeat(64)}`
  for (const tag of [{ tag: 'a' }, { tag: 'b' }, { tag: 'a', digest }]) pages.add(tag)
  expect(pages.tags).toEqual([{ tag: 'a', digest }, { tag: 'b' }])
})

it('TagPages fails when there are more tags than allowed', () => {
  const pages = new TagPages('r.example.org/lab', 1)
  pages.add({ tag: 'a' })
  expect(() => pages.add({ tag: 'b' })).toThrow('there are more than 1 tags of r.example.org/lab (images.maxTags)')
})

it('TagPages fails when pages form a circle', () => {
  const pages = new TagPages('r.example.org/lab', 1)
  pages.request('')
  pages.request('a')
  expect(() => pages.request('')).toThrow('the pages of the tags of r.example.org/lab lead round in a circle')
})

it('TagPages fails after a limit of pages', () => {
  const pages = new TagPages('r.example.org/lab', 1)
  for (let page = 0; page < 10_000; page += 1) pages.request(String(page))
  expect(() => pages.request('one more')).toThrow('the tags of r.example.org/lab come in more than 10000 pages')
})
