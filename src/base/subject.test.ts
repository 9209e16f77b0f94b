import { expect, it } from 'vitest'
import { isSubjectName, labOf, namedBy, parseSubject, sealedName, subjectText } from './subject.ts'

it('parseSubject reads back the text of any subject', () => {
  for (const name of ['ada', 'a:b', 'lab:ada', 'ada\nlovelace', '🙂']) {
    for (const subject of [labOf(name), { kind: 'toy', name }]) {
      expect(parseSubject(subjectText(subject))).toEqual(subject)
    }
  }
})

it.each([
  ['ada', true],
  ['a:b/c 🙂', true],
  ['x'.repeat(253), true],
  ['', false],
  ['a\nb', false],
  ['\u0085', false],
  ['\ud83d', false],
  ['x'.repeat(254), false],
])('isSubjectName of %j is %s', (name, isName) => {
  expect(isSubjectName(name)).toBe(isName)
})

it('namedBy has the user of a lab, and the kind of any other subject', () => {
  expect(namedBy(labOf('ada'))).toEqual({ user: 'ada' })
  expect(namedBy({ kind: 'toy', name: 'ada' })).toEqual({ subject: 'toy:ada' })
})

it('sealedName is the user of a lab, as it was before there were kinds, and names the kind of any other subject', () => {
  expect(sealedName(labOf('ada'))).toBe('ada')
  expect(sealedName({ kind: 'toy', name: 'ada' })).toBe('toy:ada')
})

it.each(['', 'ada', 'lab', 'lab:', ':ada', 'Lab:ada', 'a-b:ada'])('parseSubject returns undefined for %j', text => {
  expect(parseSubject(text)).toBeUndefined()
})
