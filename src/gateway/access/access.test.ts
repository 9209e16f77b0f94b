import { beforeEach, describe, expect, it } from 'vitest'
import { members, route } from '../../../test/kit/apps/routes.ts'
import { newId } from '../../store/apps/ids.ts'
import { FakeGateway, settle } from './testing/fakes.ts'

let gateway: FakeGateway

beforeEach(async () => {
  gateway = new FakeGateway()
  gateway.routes.put('mlflow', route())
  gateway.routes.put('open', route({ id: 'open', audience: { kind: 'public' } }))
  gateway.members.put('physics', members(['oidc:ada']))
  await gateway.start()
})

describe('Access.verdict', () => {
  it('notes the use of each session that lets in', async () => {
    const { id } = gateway.sessions.logIn('ada')
    await gateway.verdict('mlflow', [id])
    await gateway.verdict('mlflow', [])
    await gateway.verdict('open', [id])
    expect(gateway.used.map(({ claim }) => claim.user)).toEqual(['ada'])
  })

  it('notes no use of a session for a page of another origin', async () => {
    const { id, hash: loginHash } = gateway.sessions.logIn('ada')
    const first = await gateway.verdict('mlflow', [id])
    gateway.used.length = 0
    const entered = { sessionId: first.is === 'in' ? first.newSessionId! : '', loginHash }
    const presented = { appId: 'mlflow', entered, login: [], session: [], address: '192.0.2.1' }
    expect((await gateway.access.verdict({ ...presented, isOfOtherPage: true })).is).toBe('in')
    expect(gateway.used).toEqual([])
    expect((await gateway.access.verdict({ ...presented, isOfOtherPage: false })).is).toBe('in')
    expect(gateway.used).toHaveLength(1)
  })

  it('obeys tables at once, whatever it knows of the session', async () => {
    const { id } = gateway.sessions.logIn('ada')
    expect(await gateway.is('mlflow', [id])).toBe('in')
    gateway.members.put('physics', members([], { generation: 2 }))
    gateway.bell.ring({ what: 'members', subject: { kind: 'group', name: 'physics' } })
    await settle()
    expect(await gateway.is('mlflow', [id])).toBe('forbidden')
    expect(gateway.sessions.asked).toHaveLength(2)
  })

  it.each([
    ['login', (hash: string) => hash],
    ['user', () => 'ada'],
    ['app', () => 'mlflow'],
  ])('asks anew after a ring about the %s', async (kind, name) => {
    const { id, hash } = gateway.sessions.logIn('ada')
    expect(await gateway.is('mlflow', [id])).toBe('in')
    gateway.sessions.logins.clear()
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'user', name: 'eve' } })
    expect(await gateway.is('mlflow', [id])).toBe('in')
    gateway.bell.ring({ what: 'sessions', subject: { kind, name: name(hash) } })
    expect(await gateway.is('mlflow', [id])).toBe('login')
  })

  it('asks anew after a missed ring', async () => {
    const { id } = gateway.sessions.logIn('ada')
    await gateway.is('mlflow', [id])
    gateway.sessions.logins.clear()
    gateway.bell.ring({ what: 'missed' })
    await settle()
    expect(await gateway.is('mlflow', [id])).toBe('login')
  })

  it('holds for five seconds while Redis does not answer, then nobody is let in', async () => {
    const { id } = gateway.sessions.logIn('ada')
    await gateway.is('mlflow', [id])
    gateway.setDown(true)
    await gateway.pass(3_000)
    expect(await gateway.is('mlflow', [id])).toBe('in')
    expect(await gateway.is('open', [])).toBe('in')
    expect(await gateway.is('mlflow', [newId()])).toBe('unavailable')
    await gateway.pass(2_250)
    expect(await gateway.is('mlflow', [id])).toBe('unavailable')
    expect(await gateway.is('open', [])).toBe('unavailable')
    gateway.setDown(false)
    expect(await gateway.is('mlflow', [id])).toBe('in')
  })

  it('looks at the tables first when the process was halted', async () => {
    const { id } = gateway.sessions.logIn('ada')
    await gateway.is('mlflow', [id])
    gateway.routes.remove('mlflow')
    gateway.routes.put('open', route({ id: 'open', audience: { kind: 'members' } }))
    gateway.clock.advance(10_000)
    expect(await gateway.is('mlflow', [id])).toBe('unknown')
    expect(await gateway.is('open', [])).toBe('login')
  })

  it('judges by the route that stands at the end', async () => {
    const { id } = gateway.sessions.logIn('ada')
    let answer = () => {}
    gateway.sessions.hold = new Promise(resolve => (answer = resolve))
    const verdict = gateway.verdict('mlflow', [id])
    await settle()
    gateway.routes.put('mlflow', route({ generation: 2, group: 'chemistry' }))
    gateway.bell.ring({ what: 'routes', subject: { kind: 'app', name: 'mlflow' } })
    await settle()
    answer()
    expect(await verdict).toMatchObject({ is: 'forbidden', route: { group: 'chemistry' } })
  })

  it('reads a login anew when it is of another version', async () => {
    gateway.routes.put('mlflow', route({ generation: 2, group: 'staff' }))
    gateway.bell.ring({ what: 'routes' })
    const { id, hash } = gateway.sessions.logIn('ada', ['staff'])
    await settle()
    expect(await gateway.is('mlflow', [id])).toBe('in')
    const login = gateway.sessions.logins.get(hash)!
    gateway.sessions.logins.set(hash, { ...login, groups: [], version: '2' })
    await gateway.pass(5_250)
    expect(await gateway.is('mlflow', [id])).toBe('forbidden')
  })

  it('lets nobody in when the login ends while its session is made', async () => {
    const { id } = gateway.sessions.logIn('ada')
    const { create } = gateway.sessions
    gateway.sessions.create = session => {
      gateway.sessions.logins.clear()
      return create(session)
    }
    expect(await gateway.is('mlflow', [id])).toBe('login')
  })
})

describe('Access.verdictOf', () => {
  it('judges one who is known by a token, without a session', async () => {
    const verdict = (user: string, appId = 'mlflow') => gateway.access.verdictOf({ user, groups: [] }, appId)
    expect(await verdict('ada')).toMatchObject({ is: 'in', user: 'ada', person: { user: 'ada' } })
    expect(await verdict('bob')).toMatchObject({ is: 'forbidden', user: 'bob' })
    expect(await verdict('ada', 'nothing')).toEqual({ is: 'unknown' })
    expect(gateway.sessions.asked).toEqual([])
    gateway.setDown(true)
    await gateway.pass(5_250)
    expect((await verdict('ada')).is).toBe('unavailable')
  })
})

describe('Access.find', () => {
  it('finds the first login that holds, of four', async () => {
    const { id, hash } = gateway.sessions.logIn('ada', ['x'])
    const others = Array.from({ length: 4 }, newId)
    const find = (ids: readonly string[]) => gateway.access.find(ids, '192.0.2.1')
    expect(await find([...others.slice(0, 3), id])).toEqual({ id, hash, user: 'ada', groups: ['x'] })
    expect(await find([...others, id])).toBeUndefined()
    gateway.sessions.logins.clear()
    expect(await find([id])).toBeUndefined()
  })
})

describe('Access, of an unknown login,', () => {
  const from = async (address: string, id: string) =>
    (await gateway.access.verdict({ appId: 'mlflow', login: [id], session: [], address })).is

  it('asks once in five seconds', async () => {
    const forged = newId()
    for (let i = 0; i < 5; i++) expect(await from('192.0.2.1', forged)).toBe('login')
    expect(gateway.sessions.reads).toBe(1)
    await gateway.pass(5_250)
    expect(await from('192.0.2.1', forged)).toBe('login')
    expect(gateway.sessions.reads).toBe(2)
  })

  it('makes its address wait in turn after a hundred, and nobody who is known', async () => {
    const ada = gateway.sessions.logIn('ada')
    expect(await from('192.0.2.1', ada.id)).toBe('in')
    const first = await Promise.all(Array.from({ length: 100 }, () => from('192.0.2.1', newId())))
    expect(new Set(first)).toEqual(new Set(['login']))
    gateway.sessions.reads = 0
    const answered = Promise.withResolvers<void>()
    gateway.sessions.holdReads = answered.promise
    // 4 are asked about at once, and 64 wait.
    const forged = Array.from({ length: 68 }, () => from('192.0.2.1', newId()))
    const tooMany = { status: 429, headers: { 'Retry-After': '1' } }
    await expect(from('192.0.2.1', newId())).rejects.toMatchObject(tooMany)
    expect(gateway.sessions.reads).toBe(4)
    expect(await from('192.0.2.1', ada.id)).toBe('in')
    answered.resolve()
    expect(new Set(await Promise.all(forged))).toEqual(new Set(['login']))
    expect(gateway.sessions.reads).toBe(68)
  })

  it('lets in who has just logged in behind an address that others have used up', async () => {
    const fresh = gateway.sessions.logIn('ada')
    for (let i = 0; i < 150; i++) await from('192.0.2.1', newId())
    const forged = Array.from({ length: 60 }, () => from('192.0.2.1', newId()))
    expect(await from('192.0.2.1', fresh.id)).toBe('in')
    await Promise.all(forged)
  })

  it('is asked about by 16 at once beyond the count, whatever their addresses', async () => {
    const addresses = Array.from({ length: 8 }, (_, i) => `192.0.2.${i}`)
    for (const address of addresses) for (let i = 0; i < 100; i++) await from(address, newId())
    gateway.sessions.reads = 0
    const answered = Promise.withResolvers<void>()
    gateway.sessions.holdReads = answered.promise
    const forged = addresses.flatMap(address => Array.from({ length: 10 }, () => from(address, newId())))
    await settle()
    expect(gateway.sessions.reads).toBe(16)
    answered.resolve()
    await Promise.all(forged)
    expect(gateway.sessions.reads).toBe(80)
  })

  it('is asked about once when many wait with the same one', async () => {
    for (let i = 0; i < 100; i++) await from('192.0.2.1', newId())
    gateway.sessions.reads = 0
    const [id, others] = [newId(), Array.from({ length: 4 }, newId)]
    await Promise.all([...others, ...Array.from({ length: 50 }, () => id)].map(each => from('192.0.2.1', each)))
    expect(gateway.sessions.reads).toBeLessThanOrEqual(8)
  })

  it('counts none that is known, and none while Redis does not answer', async () => {
    for (let i = 0; i < 200; i++) expect(await from('192.0.2.1', gateway.sessions.logIn(`u${i}`).id)).toBe('forbidden')
    gateway.sessions.isDown = true
    for (let i = 0; i < 200; i++) expect(await from('192.0.2.1', newId())).toBe('unavailable')
  })
})
