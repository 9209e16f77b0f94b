import { expect, test } from 'vitest'
import { formatControls, isRed, projectsOf, type Shown } from './controls.ts'

const red: Shown = {
  ...{ control: 'no-fence', attack: 'T4 ', expected: /I9/ },
  shown: 'AssertionError: expected\n  + "I9 pod made twice"',
}

test.each([
  [['T4 ', 'apps K3 '], ['faults']],
  [['idle K3 '], ['idle-faults']],
  [
    ['idle K3 ', 'apps K3 '],
    ['idle-faults', 'faults'],
  ],
])('projectsOf names each project once when a control has the attacks %j', (names, projects) => {
  expect(projectsOf({ attacks: names.map(name => ({ name, expected: /I9/ })) })).toEqual(projects)
})

test('isRed holds when the attack turns red for the expected reason', () => {
  expect(isRed(red)).toBe(true)
  expect(isRed({ ...red, shown: null })).toBe(false)
  expect(isRed({ ...red, shown: 'the control is broken' })).toBe(false)
})

test('formatControls prints one table, the decisive line and a sum', () => {
  const all = [red, { ...red, control: 'no-cap', shown: null }, { ...red, control: 'no-uid', shown: 'timed out\nat x' }]
  expect(formatControls(all).split('\n')).toEqual([
    'control   attack  expected  shown',
    'no-fence  T4      /I9/      + "I9 pod made twice"  red',
    'no-cap    T4      /I9/      nothing                GREEN',
    'no-uid    T4      /I9/      timed out              red for ANOTHER reason',
    '3 controls, 1 red for their reason, 2 not',
  ])
})

test('formatControls shows the decisive part of a long line', () => {
  const shown = `${'a'.repeat(200)} I9 ${'b'.repeat(200)}`
  expect(formatControls([{ ...red, shown }])).toContain(`  …${'a'.repeat(29)} I9 ${'b'.repeat(57)}…  red`)
})
