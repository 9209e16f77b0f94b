import { expect, it } from 'vitest'
import { labOf, parseSubject, subjectText } from './subject.ts'

it('parseSubject reads back the text of any subject', () => {
  for (const name of ['ada', 'a:b', 'lab:ada', 'ada\nlovelace', '🙂']) {
    for (const subject of [labOf(name), { kind: 'toy', name }]) {
      expect(parseSubject(subjectText(subject))).toEqual(subject)
    }
  }
})

it.each(['', 'ada', 'lab', 'lab:', ':ada', 'Lab:ada', 'a-b:ada'])('parseSubject returns undefined for %j', text => {
  expect(parseSubject(text)).toBeUndefined()
})
