import { expect, it } from 'vitest'
import { labOf, parseSubject, subjectText } from './subject.ts'

it('a subject is read back from its text, whatever its name', () => {
  for (const name of ['ada', 'a:b', 'lab:ada', 'ada\nlovelace', '🙂']) {
    expect(parseSubject(subjectText(labOf(name)))).toEqual(labOf(name))
  }
})

it.each(['', 'ada', 'lab', 'lab:', 'app:mlflow', ':ada'])('%j is no subject', text => {
  expect(parseSubject(text)).toBeUndefined()
})
