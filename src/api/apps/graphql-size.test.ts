import { buildSchema, executeSync, parse } from 'graphql'
import { expect, it } from 'vitest'
import { AnswerSize } from './graphql-size.ts'

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
