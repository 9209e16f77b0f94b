import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { Identity } from '../../base/domain.ts'
import { ApiError, RetryLater } from '../../base/errors.ts'
import { unauthorized } from '../../identity/provider.ts'
import type { NewLogin } from '../../store/apps/logins.ts'
import { StaticLogin } from './static-login.ts'
import { Tries } from './tries.ts'

const ada: Identity = {
  username: 'ada',
  token: 't',
  scopes: ['exec:notebook'],
  groups: [{ name: 'physics', id: 7 }, { name: 'staff' }],
}

let clock: ManualClock
let made: NewLogin[]
let tokens: string[]
let answer: () => Promise<Identity>
let epoch: number
let login: StaticLogin

beforeEach(() => {
  clock = new ManualClock()
  made = []
  tokens = []
  epoch = 7
  answer = async () => ada
  const identify = async (headers: Headers) => {
    tokens.push(headers.get('authorization')!)
    if (tokens.at(-1) !== 'Bearer right') throw unauthorized()
    return answer()
  }
  const logins = {
    begin: async () => epoch,
    create: async (each: NewLogin) => {
      made.push(each)
      return each.begun < epoch ? ('revoked' as const) : { id: 'the-id' }
    },
  }
  login = new StaticLogin({ identity: { identify }, logins, tries: new Tries(clock), lifeMs: 1_000 })
})

describe('StaticLogin', () => {
  it('makes a login of whom a token names', async () => {
    expect(await login.login('right', '192.0.2.1')).toEqual({ is: 'in', id: 'the-id', user: 'ada' })
    expect(made).toEqual([{ user: 'ada', groups: ['physics', 'staff'], begun: 7, lifeMs: 1_000 }])
  })

  it('makes nobody somebody else in a browser where one is logged in', async () => {
    expect(await login.login('right', '192.0.2.1', 'max')).toEqual({ is: 'other' })
    expect(made).toEqual([])
    expect((await login.login('right', '192.0.2.1', 'ada')).is).toBe('in')
  })

  it('refuses a token without the scope for apps', async () => {
    answer = async () => ({ ...ada, scopes: ['admin:jupyterlab'] })
    expect(await login.login('right', '192.0.2.1')).toEqual({ is: 'refused' })
    expect(made).toEqual([])
  })

  it.each([
    ['an unknown token', 'wrong'],
    ['nothing', ''],
    ['two words', 'a b'],
    ['another header', 'right\r\nX-A: b'],
    ['what is no header', 'é'],
    ['more than any token has', 'x'.repeat(4_097)],
  ])('refuses %s', async (_, token) => {
    expect(await login.login(token, '192.0.2.1')).toEqual({ is: 'refused' })
    expect(made).toEqual([])
    for (const sent of tokens) expect(sent).toBe('Bearer wrong')
  })

  it('refuses one who is revoked while he logs in', async () => {
    answer = async () => {
      epoch = 8
      return ada
    }
    expect(await login.login('right', '192.0.2.1')).toEqual({ is: 'revoked' })
  })

  it.each([
    ['refused', new ApiError(403, { msg: 'no', type: 'forbidden' })],
    ['unavailable', new ApiError(503, { msg: 'no', type: 'unavailable' })],
    ['unavailable', new RetryLater('no')],
  ])('is %s when identities are answered by %s', async (is, error) => {
    answer = () => Promise.reject(error)
    expect(await login.login('right', '192.0.2.1')).toEqual({ is })
  })

  it('slows an address down after ten attempts, and no other', async () => {
    const attempt = (address: string, token = 'wrong') => login.login(token, address)
    for (let i = 0; i < 10; i++) expect((await attempt('192.0.2.1')).is).toBe('refused')
    expect(await attempt('192.0.2.1', 'right')).toEqual({ is: 'slow', afterMs: expect.closeTo(6_000, -1) })
    expect((await attempt('192.0.2.2', 'right')).is).toBe('in')
    clock.advance(6_000)
    expect((await attempt('192.0.2.1')).is).toBe('refused')
    expect((await attempt('192.0.2.1')).is).toBe('slow')
  })

  it('counts no login that succeeds', async () => {
    for (let i = 0; i < 30; i++) expect((await login.login('right', '192.0.2.1')).is).toBe('in')
  })

  it('counts all addresses of a network of IPv6 as one', async () => {
    const addresses = ['2001:db8::1', '2001:db8:0:0:1::', '2001:0db8::ffff:1', '2001:db8:0:0:5:6:7:8']
    for (let i = 0; i < 10; i++) await login.login('wrong', addresses[i % addresses.length]!)
    for (const address of addresses) expect((await login.login('wrong', address)).is).toBe('slow')
    expect((await login.login('wrong', '2001:db8:0:1::1')).is).toBe('refused')
    expect((await login.login('wrong', '::1')).is).toBe('refused')
  })

  it('slows those down who failed lately, and nobody else, when many addresses try', async () => {
    const attempt = async (address: string, token = 'wrong') => (await login.login(token, address)).is
    const answers: string[] = []
    for (let i = 0; i < 100; i++) answers.push(await attempt(`192.0.2.${i}`))
    expect(new Set(answers)).toEqual(new Set(['refused']))
    expect(await attempt('192.0.2.1')).toBe('slow')
    expect(await attempt('198.51.100.1', 'right')).toBe('in')
    expect([await attempt('198.51.100.2'), await attempt('198.51.100.2', 'right')]).toEqual(['refused', 'slow'])
    clock.advance(60_000)
    expect(await attempt('192.0.2.1', 'right')).toBe('in')
  })
})
