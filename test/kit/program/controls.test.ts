import { readFileSync } from 'node:fs'
import { transformSync } from 'esbuild'
import { expect, test } from 'vitest'
import { controlNamed, controls, edited } from './controls.ts'

test.for(controls)('edited makes a program of the source by the edits of the control $name', ({ name, edits }) => {
  const texts = new Map<string, string>()
  for (const edit of edits) {
    const before = texts.get(edit.file) ?? readFileSync(new URL(`../../../${edit.file}`, import.meta.url), 'utf8')
    const after = edited(before, edit, name)
    expect(after).not.toBe(before)
    texts.set(edit.file, after)
  }
  for (const [file, text] of texts) {
    if (file.endsWith('.ts'))
      expect(() => transformSync(text, { loader: 'ts', logLevel: 'silent' }), file).not.toThrow()
  }
})

test('edited throws when its text is missing or occurs twice', () => {
  const edit = { file: 'src/a.ts', find: 'guard()', replace: '' }
  expect(edited('before guard() after', edit, 'none')).toBe('before  after')
  expect(() => edited('before after', edit, 'none')).toThrow(
    'control none is broken: its text occurs 0 times in src/a.ts',
  )
  expect(() => edited('guard() guard()', edit, 'none')).toThrow('2 times')
  expect(() => controlNamed('none')).toThrow('no such control: none')
})
