import { expect, it } from 'vitest'
import { isAsShown, paste, pastedBlocks, withVariables } from './pasted.ts'

const page = `# Page
\`\`\`sh
A=one
\`\`\`
Words.

\`\`\`sh
echo "$A"
echo two
\`\`\`
\`\`\`
one
two
\`\`\`
\`\`\`yaml
not: this
\`\`\`
`

it('pastedBlocks finds commands and the output that the page shows for them', () => {
  expect(pastedBlocks(page)).toEqual([
    { commands: 'A=one\n', shown: undefined },
    { commands: 'echo "$A"\necho two\n', shown: 'one\ntwo\n' },
  ])
})

it('paste runs blocks in one shell, with the values that withVariables replaced', async () => {
  const [first, second] = pastedBlocks(page)
  const [, output] = await paste([withVariables(first!.commands, { A: 'x' }), second!.commands], 10_000)
  expect(output).toBe('x\ntwo\n')
  expect(() => withVariables(first!.commands, { B: 'x' })).toThrow(/the page sets A/)
  expect(() => withVariables('A=one\nB=two\n', { A: 'x' })).toThrow(/the page sets A,B/)
})

it.each([
  ['a\nb\n', 'a\nb\n', true],
  ['a\nb\n', 'a\n', false],
  ['a\nb\nc\n', 'a\n…\nc\n', true],
  ['a\nc\n', 'a\n…\nc\n', true],
  ['a\nb\n', 'a\n…\nc\n', false],
  ['a\nb\n', 'a\n…\n', true],
  ['{"a": 1, "b": 2}\n', '{"a": …, "b": 2}\n', true],
  ['{"a": 1, "b": 3}\n', '{"a": …, "b": 2}\n', false],
  ['a.b\n', 'a*b\n', false],
])('isAsShown answers for the output %j and the page %j: %s', (output, shown, as) => {
  expect(isAsShown(output, shown)).toBe(as)
})
