import { expect, test } from 'vitest'
import { commandsOf } from './commands.ts'

const blockOf = (...lines: string[]) => ({ page: 'docs/page.md', heading: '', line: 10, lines, excuse: null })

test('commandsOf splits a block into commands, with their lines', () => {
  const block = blockOf(
    '# First',
    'mkdir site && cat > site/file <<END',
    'it is "half',
    'END',
    '',
    'kubectl create secret generic name \\',
    '    --from-literal=a=b',
    'words="one',
    'two"',
    'for each in 1 2; do',
    '  echo $each',
    'done',
  )
  expect(commandsOf(block).map(({ at, text }) => [at, text.split('\n').length])).toEqual([
    ['docs/page.md:12', 3],
    ['docs/page.md:16', 2],
    ['docs/page.md:18', 2],
    ['docs/page.md:20', 3],
  ])
}, 60_000)

test('commandsOf reads the words that a command must print', () => {
  const [first, second] = commandsOf(blockOf('curl localhost    # → ready', 'echo "# a heading"  # a remark'))
  expect([first!.expects, second!.expects]).toEqual([['ready'], []])
}, 60_000)

test.each(['echo "open', 'cat <<END', 'echo \\'])(
  'commandsOf refuses a command without an end: %s',
  text => {
    expect(() => commandsOf(blockOf(text))).toThrow('docs/page.md:10: a command has no end')
  },
  60_000,
)
