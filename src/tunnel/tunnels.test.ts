import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { hasEnded, noContainer, notRunning } from '../containers/problems.ts'
import type { AuditEvent } from '../telemetry/audit.ts'
import { Tunnels, type Wish } from './tunnels.ts'
import { Visits } from './visits.ts'

const uuid = 'zzzzz-dz642-000000000000001'
/** Nothing listens there. */
const reached = { run: 7, address: '127.0.0.1:1', pin: 'a'.repeat(64) }

function site(access = { Admin: true, User: true }) {
  const clock = new ManualClock()
  const lines: AuditEvent[] = []
  const listeners = new Set<() => void>()
  const failures: unknown[][] = []
  const state = { reach: async () => reached, mayStay: true }
  const tunnels = new Tunnels({
    ...{ clock, access, limits: { perUser: 2, perReplica: 3 }, keysOf: () => [] },
    containers: { reach: () => state.reach() },
    onMore: (_, listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    visits: new Visits({ clock, auditor: { request: event => void lines.push(event) }, provider: 'static' }),
    sight: { opened: () => {}, refused: () => {}, failed: (...failure) => void failures.push(failure) },
  })
  const wish = (
    username = 'ada',
    target: Wish['target'] = { port: 80 },
    audience: 'user' | 'admin' = 'user',
  ): Wish => ({
    ...{ uuid, target, mayStay: async () => state.mayStay },
    asker: { caller: { username, groups: [], scopes: [] }, audience, from: {}, requestId: 'r' },
  })
  const told = () => lines.map(({ action, result, reason, actor }) => [action, result, reason, actor.name])
  const change = async () => {
    for (const listener of listeners) listener()
    await setImmediate()
  }
  const minute = async () => {
    clock.advance(60_000)
    await setImmediate()
  }
  return { tunnels, clock, state, wish, told, change, minute, listeners, failures }
}

/** What became of a passage. */
async function entered(tunnels: Tunnels, wish: Wish) {
  const passage = await tunnels.enter(wish)
  const cuts: string[] = []
  passage.onCut(reason => void cuts.push(reason))
  return { passage, cuts }
}

describe('tunnels', () => {
  it.each([
    ['user', { Admin: true, User: false }, 'User'],
    ['admin', { Admin: false, User: true }, 'Admin'],
  ] as const)('refuse a %s when ShellAccess does not allow it', async (audience, access, key) => {
    const { tunnels, wish, told } = site(access)
    const refused = tunnels.enter(wish('ada', 'ssh', audience))
    await expect(refused).rejects.toMatchObject({ status: 403, message: expect.stringContaining(key) })
    expect(told()).toEqual([['container.shell', 'refused', 'shell_off', 'ada']])
  })

  it('refuse more than one user, and more than all, may have, and give places back', async () => {
    const { tunnels, wish } = site()
    const [first] = [await tunnels.enter(wish()), await tunnels.enter(wish())]
    await expect(tunnels.enter(wish())).rejects.toMatchObject({ status: 429 })
    await tunnels.enter(wish('bob'))
    await expect(tunnels.enter(wish('eve'))).rejects.toMatchObject({ status: 503 })
    first!.leave()
    expect(tunnels.open).toBe(2)
    await tunnels.enter(wish('eve'))
  })

  it('tell which container was not reached, and where', async () => {
    const { tunnels, wish, failures } = site()
    const passage = await tunnels.enter(wish())
    await expect(passage.connect()).rejects.toMatchObject({ why: 'unreachable' })
    expect(failures).toEqual([['unreachable', { uuid, address: reached.address }]])
  })

  it('keep no place and no listener of what was refused', async () => {
    const { tunnels, wish, state, listeners, told } = site()
    state.reach = async () => {
      throw noContainer()
    }
    for (let i = 0; i < 5; i++) await expect(tunnels.enter(wish())).rejects.toMatchObject({ status: 404 })
    expect([tunnels.open, listeners.size]).toEqual([0, 0])
    expect(told().map(([, result]) => result)).toEqual(Array(5).fill('refused'))
  })

  it('cut what is open when its container has ended, or has another run', async () => {
    for (const next of [
      async () => Promise.reject(hasEnded()),
      async () => Promise.reject(notRunning('it waits for another machine')),
      async () => ({ ...reached, run: 8 }),
    ]) {
      const { tunnels, wish, state, change } = site()
      const { cuts } = await entered(tunnels, wish())
      await change()
      expect(cuts).toEqual([])
      state.reach = next
      await change()
      expect(cuts).toEqual(['ended'])
    }
  })

  it.each(['at its opening', 'at a change before'])(
    'cut what is open when its container ends while it is read %s',
    async when => {
      const { tunnels, wish, state, change } = site()
      const read = Promise.withResolvers<void>()
      const slowly = async () => {
        await read.promise
        return reached
      }
      if (when === 'at its opening') state.reach = slowly
      const entering = entered(tunnels, wish())
      if (when !== 'at its opening') {
        await entering
        state.reach = slowly
        await change()
      }
      await change()
      state.reach = async () => Promise.reject(hasEnded())
      read.resolve()
      const { cuts } = await entering
      await setImmediate()
      expect(cuts).toEqual(['ended'])
    },
  )

  it('cut who may stay no longer within a minute, and nobody while that is not known', async () => {
    const { tunnels, wish, state, minute, told } = site()
    const { passage, cuts } = await entered(tunnels, wish('ada', 'ssh'))
    state.reach = async () => Promise.reject(new RetryLater('Redis does not answer'))
    await minute()
    await minute()
    expect(cuts).toEqual([])
    state.mayStay = false
    await minute()
    expect(cuts).toEqual(['revoked'])
    passage.leave()
    expect(told()).toEqual([
      ['container.shell', 'accepted', undefined, 'ada'],
      ['container.shell', 'succeeded', 'revoked', 'ada'],
    ])
  })

  it('cut what is open, and refuse the rest, when the replica ends', async () => {
    const { tunnels, wish, told } = site()
    const { passage, cuts } = await entered(tunnels, wish('ada', 'ssh'))
    tunnels.drain()
    expect(cuts).toEqual(['drained'])
    passage.leave()
    await expect(tunnels.enter(wish())).rejects.toMatchObject({ status: 503 })
    expect(told().filter(([, result]) => result === 'succeeded')).toHaveLength(1)
  })

  it('tell requests to one port as one visit until a minute passes without any', async () => {
    const { tunnels, wish, told, clock } = site()
    for (let i = 0; i < 3; i++) (await tunnels.enter(wish())).leave()
    clock.advance(59_000)
    const late = await tunnels.enter(wish())
    clock.advance(120_000)
    late.leave()
    ;(await tunnels.enter(wish('bob'))).leave()
    clock.advance(60_000)
    await setImmediate()
    expect(told()).toEqual([
      ['container.port', 'accepted', undefined, 'ada'],
      ['container.port', 'accepted', undefined, 'bob'],
      ['container.port', 'succeeded', 'left', 'ada'],
      ['container.port', 'succeeded', 'left', 'bob'],
    ])
  })
})
