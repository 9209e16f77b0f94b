import { describe, expect, it } from 'vitest'
import { Sealer } from '../../store/sealing.ts'
import { BegunLogins, begunMs } from './begun.ts'

let nowMs = 1_000_000
const sealer = new Sealer([Buffer.alloc(32, 1)])
const logins = new BegunLogins(sealer, () => nowMs)
const pairOf = (cookie: string) => cookie.split(';')[0]!
const headersOf = (...cookies: readonly string[]) => ['Cookie', cookies.map(pairOf).join('; ')]

describe('BegunLogins', () => {
  it('finds a login of its state in the browser that began it', () => {
    const { begun, cookies } = logins.begin('/console/apps/a/', [])
    expect(cookies).toEqual([
      expect.stringMatching(
        /^__Host-Http-skylab-begun-[\w-]{8}=v1\.\S+; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/,
      ),
    ])
    expect(logins.find(begun.state, headersOf(...cookies))).toEqual(begun)
  })

  it('draws state, nonce and verifier anew for each login', () => {
    const all = [logins.begin(undefined, []), logins.begin(undefined, [])].flatMap(({ begun }) => [
      ...[begun.state, begun.nonce, begun.verifier],
    ])
    expect(new Set(all).size).toBe(6)
    for (const each of all) expect(each).toMatch(/^[\w-]{43}$/)
  })

  it('finds none when the cookie is of another login, or is not there', () => {
    const [one, other] = [logins.begin(undefined, []), logins.begin(undefined, [])]
    const { state } = one.begun
    expect(logins.find(state, headersOf(...other.cookies))).toBeUndefined()
    expect(logins.find(state, [])).toBeUndefined()
    // The same name, with what was sealed for the other one.
    const swapped = `${pairOf(one.cookies[0]!).split('=')[0]}=${pairOf(other.cookies[0]!).split('=')[1]}`
    expect(logins.find(state, headersOf(swapped))).toBeUndefined()
  })

  it('finds none when the cookie was changed, or sealed by another key', () => {
    const { begun, cookies } = logins.begin(undefined, [])
    const own = pairOf(cookies[0]!)
    const last = own.at(-5) === 'A' ? 'B' : 'A'
    expect(logins.find(begun.state, headersOf(`${own.slice(0, -5)}${last}${own.slice(-4)}`))).toBeUndefined()
    const others = new BegunLogins(new Sealer([Buffer.alloc(32, 2)]), () => nowMs)
    expect(others.find(begun.state, headersOf(...cookies))).toBeUndefined()
  })

  it.each(['', 'x', '../x', 'é'.repeat(43), 'x'.repeat(44)])('finds none when the state is %j', state => {
    expect(logins.find(state, headersOf(...logins.begin(undefined, []).cookies))).toBeUndefined()
  })

  it('finds none when ten minutes have passed, whatever the browser keeps', () => {
    const { begun, cookies } = logins.begin(undefined, [])
    nowMs += begunMs - 1
    expect(logins.find(begun.state, headersOf(...cookies))).toEqual(begun)
    nowMs += 1
    expect(logins.find(begun.state, headersOf(...cookies))).toBeUndefined()
  })

  it('clears former logins when a browser has four of them', () => {
    const former = Array.from({ length: 4 }, () => logins.begin(undefined, []).cookies[0]!)
    expect(logins.begin(undefined, headersOf(...former.slice(1))).cookies).toHaveLength(1)
    const { cookies } = logins.begin(undefined, headersOf(...former))
    expect(cookies.slice(1)).toEqual(
      former.map(each => expect.stringMatching(new RegExp(`^${each.split('=')[0]}=; .*Max-Age=0;`))),
    )
  })

  it('makes a cookie that browsers keep when the address is as long as may be', () => {
    const { cookies } = logins.begin(`/console/apps/a/${'x'.repeat(2_032)}`, [])
    expect(pairOf(cookies[0]!).length).toBeLessThan(4_000)
  })
})
