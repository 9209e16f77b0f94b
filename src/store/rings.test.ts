import { describe, expect, it } from 'vitest'
import { parseRing } from './rings.ts'

const read = (fields: Readonly<Record<string, string>>) => parseRing(Object.entries({ epoch: '1', ...fields }).flat())
const ada = { kind: 'lab', name: 'ada' }

describe('parseRing', () => {
  it.each(['accepted', 'events', 'failed', 'ended', 'released', 'activity'])('reads a ring of a subject: %s', what => {
    const fields = { user: 'ada', op: '7', what, subject: 'lab:ada' }
    expect(read(fields)).toEqual({ what, subject: ada, op: 7 })
  })

  it('reads a ring of the whole installation, which has neither subject nor op', () => {
    expect(read({ user: '', op: '0', what: 'compared' })).toEqual({ what: 'compared' })
  })

  it('reads a ring of a subject that has no operations', () => {
    expect(read({ what: 'events', subject: 'lab:ada' })).toEqual({ what: 'events', subject: ada })
  })

  it('reads a ring of a subject of any kind', () => {
    const fields = { user: '', op: '7', what: 'ended', subject: 'toy:ada' }
    expect(read(fields)).toEqual({ what: 'ended', subject: { kind: 'toy', name: 'ada' }, op: 7 })
  })

  it('reads the field `user` of the former release as a lab when there is no subject', () => {
    expect(read({ user: 'ada', op: '7', what: 'ended' })).toEqual({ what: 'ended', subject: ada, op: 7 })
  })

  it.each([
    ['another `what`', { what: 'members', subject: 'lab:ada', user: 'ada', op: '7' }],
    ['the name of a method', { what: 'toString', subject: 'lab:ada', user: 'ada', op: '7' }],
    ['one that no release rings', { what: 'missed', user: '', op: '0' }],
    ['a subject without a kind', { what: 'ended', subject: 'mlflow', user: '', op: '7' }],
    ['a lab without a name', { what: 'ended', user: '', op: '7' }],
    ['nothing', {}],
  ])('ignores %s', (_, fields) => {
    expect(read(fields as Record<string, string>)).toBeUndefined()
  })
})
