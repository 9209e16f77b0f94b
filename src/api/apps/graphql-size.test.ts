import { buildSchema, executeSync, parse } from 'graphql'
import { expect, it } from 'vitest'
import { AnswerSize, LargeAnswers } from './graphql-size.ts'

const schema = buildSchema('scalar JSON type A { id: ID! text: String json: JSON list: [A]! } type Query { a: A b: A }')

it.each([
  ['text', { a: { text: 'x'.repeat(101) } }, '{ a { text } }'],
  ['text that JSON writes longer', { a: { text: '\u0001'.repeat(20) } }, '{ a { text } }'],
  ['JSON', { a: { json: { deep: ['x'.repeat(101)] } } }, '{ a { json } }'],
  ['a list', { a: { list: Array(60).fill({}) } }, '{ a { list { text } } }'],
  ['small things', { a: { list: Array(20).fill({ id: 'xx' }) } }, '{ a { list { id } } }'],
])('AnswerSize finds an answer too large by %s', (_, rootValue, query) => {
  const size = new AnswerSize(100)
  const { errors } = executeSync({ schema, document: parse(query), rootValue, fieldResolver: size.resolve })
  expect([size.isTooLarge, errors]).toEqual([true, undefined])
})

it('AnswerSize takes nothing more once an answer is too large', () => {
  const size = new AnswerSize(100)
  let asked = 0
  const rootValue = { a: { list: Array(99).fill({ id: 'x' }) }, b: () => void asked++ }
  const document = parse('{ a { list { id } } b { id } }')
  const { data } = executeSync({ schema, document, rootValue, fieldResolver: size.resolve })
  expect([data!.a, asked]).toEqual([{ list: [] }, 0])
})

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
