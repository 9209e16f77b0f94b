import { describe, expect, it } from 'vitest'
import { formToken, isFormToken } from './form-token.ts'

const login = 'l'.repeat(43)

describe('isFormToken', () => {
  it('takes the token of this login and purpose', () => {
    expect(isFormToken(formToken(login, 'start a'), login, 'start a')).toBe(true)
    expect(isFormToken(formToken(login, 'logout'), login, 'logout')).toBe(true)
  })

  it.each([
    ['of another app', formToken(login, 'start b')],
    ['of another purpose', formToken(login, 'logout')],
    ['of another login', formToken('m'.repeat(43), 'start a')],
    ['that is cut', formToken(login, 'start a').slice(0, -1)],
    ['that is longer', `${formToken(login, 'start a')}AAAA`],
    ['that is empty', ''],
    ['that is missing', undefined],
  ])('refuses one %s', (_, token) => {
    expect(isFormToken(token, login, 'start a')).toBe(false)
  })
})

it('formToken does not show the id of the login', () => {
  expect(formToken(login, 'logout')).toMatch(/^[\w-]{43}$/)
  expect(formToken(login, 'logout')).not.toContain('lll')
})
