import { describe, expect, it } from 'vitest'
import type { CreateRequest } from '../../base/domain.ts'
import { ApiError } from '../../base/errors.ts'
import { configSchema } from '../../config/schema.ts'
import { checkCreate } from './create.ts'

const few = {
  maxOptionLength: 3,
  maxEnvEntries: 2,
  maxEnvNameLength: 4,
  maxEnvValueLength: 5,
  maxEnvBytes: 12,
}

function detailOf(request: Partial<CreateRequest>) {
  try {
    checkCreate(few, { options: {}, env: {}, ...request })
  } catch (error) {
    if (error instanceof ApiError) return error.detail.map(({ msg, loc }) => [msg, loc])
    throw error
  }
  return []
}

describe('checkCreate', () => {
  it('accepts a create at the limits', () => {
    expect(detailOf({ options: { size: 'abc', enable_debug: true }, env: { AB: 'abcde', C: 'dddd' } })).toEqual([])
    expect(detailOf({ options: { size: '😀😀😀' } })).toEqual([])
  })

  it.each([
    ['an option', { options: { size: 'abcd' } }, 'is longer than 3 characters', ['body', 'options', 'size']],
    ['a long option', { options: { size: '😀😀😀😀' } }, 'is longer than 3 characters', ['body', 'options', 'size']],
    ['a name', { env: { ABCDE: '' } }, 'has a name longer than 4 characters', ['body', 'env', 'ABCDE']],
    ['a value', { env: { A: 'abcdef' } }, 'is longer than 5 characters', ['body', 'env', 'A']],
    ['all of env', { env: { A: '雪雪', B: '雪雪' } }, 'is larger than 12 bytes', ['body', 'env']],
    ['many variables', { env: { A: '', B: '', C: '' } }, 'has more than 2 variables', ['body', 'env']],
  ])('refuses a create where %s is too much', (_, request, msg, loc) => {
    expect(detailOf(request)).toEqual([[msg, loc]])
  })

  it('refuses by default a variable that Linux could not pass to a process', () => {
    const { limits } = configSchema.parse({}).api
    const perCharacter = 4
    // MAX_ARG_STRLEN, with name, equals sign and NUL.
    expect(limits.maxEnvNameLength + limits.maxEnvValueLength * perCharacter + 2).toBeLessThan(131_072)
  })
})
