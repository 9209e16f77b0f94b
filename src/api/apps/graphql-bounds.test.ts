import { getIntrospectionQuery, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { parseBounded } from './graphql-bounds.ts'
import { graphqlSchema } from './graphql-schema.ts'

const app = (inner: string) => `phApplication(where: {id: "a"}) { ${inner} }`
const many = (count: number, each: (i: number) => string) => Array.from({ length: count }, (_, i) => each(i)).join(' ')

describe('parseBounded', () => {
  it('takes the query by which clients ask for the schema', () => {
    for (const text of [getIntrospectionQuery(), getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true })])
      expect(validate(graphqlSchema, parseBounded(text))).toEqual([])
  })

  it('takes what is at its bounds', () => {
    const deep = 'phApplicationsConnection { edges { node { appTemplate { a { b { c { d } } } } } } }'
    expect(() => parseBounded(`{ ${deep} }`)).not.toThrow()
    expect(() => parseBounded(`{ ${many(10, i => `q${i}: ${app('id')}`)} }`)).not.toThrow()
    expect(() => parseBounded(`{ ${app(many(480, i => `a${i}`))} }`)).not.toThrow()
  })

  it.each([
    ['no query', 'x', 'Syntax Error'],
    ['1001 tokens', `{ ${many(1000, () => 'a')} }`, 'Document contains more'],
    ['9 levels', '{ a { b { c { d { e { f { g { h { i } } } } } } } } }', 'deeper than 8'],
    [
      '9 levels by fragments',
      '{ a { b { c { d { ...F } } } } } fragment F on T { e { f { g { h { i } } } } }',
      'deeper than 8',
    ],
    ['11 questions', `{ ${many(11, i => `q${i}: ${app('id')}`)} }`, 'more than 10 questions'],
    [
      '12 questions by fragments',
      `{ ...A ...A2 } fragment A on Query { ${many(6, i => `q${i}: a`)} } fragment A2 on Query { ${many(6, i => `r${i}: a`)} }`,
      'more than 10 questions',
    ],
    ['501 fields', `{ ${app(many(500, i => `a${i}`))} }`, 'more than 500 fields'],
    [
      'fragments that contain each other',
      '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }',
      'contain',
    ],
    ['a fragment that contains itself', '{ ...A } fragment A on Query { a { ...A } }', 'contain'],
    ['a field thrice', '{ phAppTemplates { a: icon b: icon c: icon } }', 'more than 2 times'],
    [
      'a field thrice by fragments',
      '{ phAppTemplates { a: icon ...F ... { d: icon } } } fragment F on PhAppTemplate { b: icon }',
      'more than 2 times',
    ],
    [
      'a list of apps thrice',
      `{ ${many(3, i => `q${i}: phApplicationsConnection { edges { cursor } }`)} }`,
      'more than 2',
    ],
    [
      'fields of the schema within fields',
      '{ __schema { types { fields { type { fields { name } } } } } }',
      'fields within fields',
    ],
    [
      'the schema twice',
      '{ __schema { types { name } } a: __schema { types { name } } }',
      'twice for a field of the schema',
    ],
    [
      'the schema twice by fragments',
      '{ ...F ... { __schema { types { name } } } } fragment F on Query { a: __schema { types { name } } }',
      'twice for a field of the schema',
    ],
    ['two types', '{ __type(name: "A") { name } b: __type(name: "B") { name } }', 'twice for a field of the schema'],
    [
      'a list of the schema twice',
      '{ __schema { types { name } a: types { name } } }',
      'twice for a field of the schema',
    ],
    ['a field of a type twice', '{ __type(name: "A") { fields { type { name a: name } } } }', 'twice for a field of'],
    ['no operation', 'fragment A on Query { a }', 'one operation'],
    ['two operations', 'query A { a } query B { b }', 'one operation'],
  ])('refuses %s', (_, text, words) => {
    expect(() => parseBounded(text)).toThrow(words)
  })

  it('counts fragments of fragments in no time, though they are thousands of millions of fields', () => {
    const doubling = many(60, i => `fragment F${i} on T { ...F${i + 1} ...F${i + 1} }`)
    expect(() => parseBounded(`{ a { ...F0 } } ${doubling} fragment F60 on T { x }`)).toThrow('more than 500 fields')
  })
})
