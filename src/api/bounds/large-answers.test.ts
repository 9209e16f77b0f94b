import { expect, it } from 'vitest'
import { LargeAnswers } from './large-answers.ts'

it('LargeAnswers holds few at once of a user, until they are sent', () => {
  const large = new LargeAnswers()
  const sent: (() => void)[] = []
  const hold = (user: string, size = 65_536) => large.hold(user, 'x'.repeat(size), each => void sent.push(each))
  for (let i = 0; i < 4; i += 1) hold('ann')
  expect(() => hold('ann')).toThrow(expect.objectContaining({ status: 429 }))
  hold('ann', 65_535)
  sent[0]!()
  hold('ann')
  for (const user of ['bob', 'eve', 'dan']) for (let i = 0; i < 4; i += 1) hold(user)
  expect(() => hold('kim')).toThrow(expect.objectContaining({ status: 503 }))
})
