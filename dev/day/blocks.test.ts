import { expect, test } from 'vitest'
import { readBlocks } from './blocks.ts'

const read = (text: string) => readBlocks('docs/page.md', text)
const fenced = (name: string, ...lines: string[]) => [`\`\`\`${name}`, ...lines, '```'].join('\n')

test('readBlocks returns the commands of a page with their heading and line', () => {
  const text = [
    '# A page',
    '',
    '## The first `step`',
    fenced('sh', 'one', 'two'),
    '- item',
    `  ${fenced('', 'three')}`,
  ].join('\n')
  expect(read(text.replaceAll('\nthree\n```', '\n  three\n  ```'))).toEqual({
    blocks: [
      { page: 'docs/page.md', heading: 'the-first-step', line: 4, lines: ['one', 'two'], excuse: null },
      { page: 'docs/page.md', heading: 'the-first-step', line: 9, lines: ['three'], excuse: null },
    ],
    problems: [],
  })
})

test('readBlocks leaves out blocks of other languages', () => {
  expect(read(fenced('yaml', 'a: 1'))).toEqual({ blocks: [], problems: [] })
})

test('readBlocks reads the reason why a block is not run', () => {
  const { blocks, problems } = read(fenced('sh', '# Not run by `npm run day`: it needs Docker.', 'docker build .'))
  expect(blocks.map(({ excuse }) => excuse)).toEqual(['it needs Docker.'])
  expect(problems).toEqual([])
})

test.each([
  ['an excuse without a reason', fenced('sh', '# Not run by `npm run day`:', 'one'), 'an excuse is the first line'],
  ['an excuse behind a command', fenced('sh', 'one', '# not run here', 'two'), 'an excuse is the first line'],
  ['a language that is unknown', fenced('shh', 'one'), 'unknown language: shh'],
  ['a block without an end', '```sh\none', 'the block has no end'],
  ['indented commands', '## Heading\n    docker build .', 'not indented'],
])('readBlocks refuses %s', (_, text, words) => {
  expect(read(text).problems).toEqual([expect.stringContaining(words)])
})
