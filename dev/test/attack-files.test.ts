import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { attacksNamed } from './attack-files.ts'

const names = ['term.attack.ts', 'lease-model.attack.ts']

test('attacksNamed finds attacks by a part of their path', () => {
  expect(attacksNamed(['term'], names)).toEqual(['test/integration/faults/term.attack.ts'])
  expect(attacksNamed(['faults/lease'], names)).toEqual(['test/integration/faults/lease-model.attack.ts'])
  expect(attacksNamed(['.attack.ts'], names)).toHaveLength(2)
})

test('attacksNamed finds none where their folder is named, or nothing', () => {
  expect(attacksNamed(['faults', 'test/integration'], names)).toEqual([])
  expect(attacksNamed([], names)).toEqual([])
})

test('each attack of the checkout runs in a whole run, in one of two files', () => {
  const folder = new URL('../../test/integration/faults/', import.meta.url)
  const text = ['together', 'timed'].map(name => readFileSync(new URL(`${name}.test.ts`, folder), 'utf8')).join('\n')
  const attacks = readdirSync(folder).filter(name => name.endsWith('.attack.ts'))
  const imported = [...text.matchAll(/import '\.\/(.*)'/g)].map(([, name]) => name)
  expect(imported.toSorted()).toEqual(attacks.toSorted())
  expect(attacks.length).toBeGreaterThan(15)
})
