import { describe, expect, it } from 'vitest'
import { parseAppRing } from './rings.ts'

const read = (fields: Readonly<Record<string, string>>) =>
  parseAppRing(Object.entries({ epoch: '1', ...fields }).flat())

describe('parseAppRing', () => {
  it.each([
    ['routes', 'app', 'mlflow'],
    ['members', 'group', 'physics'],
    ['sessions', 'login', 'a'.repeat(64)],
    ['sessions', 'user', 'ada'],
    ['sessions', 'app', 'mlflow'],
    ['intents', 'app', 'mlflow'],
  ])('reads a ring of %s about one %s', (what, kind, name) => {
    expect(read({ what, subject: `${kind}:${name}` })).toEqual({ what, subject: { kind, name } })
  })

  it.each(['routes', 'members'])('reads a ring about all %s', what => {
    expect(read({ what })).toEqual({ what })
  })

  it.each([
    ['a ring of labs', { what: 'ended', subject: 'lab:ada' }],
    ['the name of a method', { what: 'toString', subject: 'app:mlflow' }],
    ['one that nobody rings', { what: 'missed' }],
    ['another kind of subject', { what: 'routes', subject: 'group:physics' }],
    ['a subject without a kind', { what: 'sessions', subject: 'ada' }],
    ['sessions of nobody', { what: 'sessions' }],
    ['intents of nobody', { what: 'intents' }],
    ['nothing', {}],
  ])('ignores %s', (_, fields) => {
    expect(read(fields as Record<string, string>)).toBeUndefined()
  })
})
