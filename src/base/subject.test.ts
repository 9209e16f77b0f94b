import { expect, it } from 'vitest'
import { labOf, parseSubject, subjectText } from './subject.ts'

it('parseSubject reads back the text of any subject', () => {
  for (const name of ['ada', 'a:b', 'lab:ada', 'ada\nlovelace', '🙂']) {
    expect(parseSubject(subjectText(labOf(name)))).toEqual(labOf(name))
  }
})

it.each(['', 'ada', 'lab', 'lab:', 'app:mlflow', ':ada'])('parseSubject returns undefined for %j', text => {
  expect(parseSubject(text)).toBeUndefined()
})
