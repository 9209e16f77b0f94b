/** What others do to the engine: replicas that lag, leases that lapse, objects and words of strangers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { unlessAborted } from '../base/deadline.ts'
import { Fenced, RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import type { Selects } from './testing/api.ts'
import { Toys } from './testing/toys.ts'
import type { Effect, Hold, Kind } from './types.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

type AnyKind = Kind<never>
/** The kind with more in its verdicts. */
const holding =
  (more: (nowMs: number) => Partial<Hold>) =>
  (kind: AnyKind): AnyKind => ({
    ...kind,
    desired: (key, world, nowMs) => {
      const verdict = kind.desired(key, world, nowMs)
      return verdict.do === 'hold' ? { ...verdict, ...more(nowMs) } : verdict
    },
  })

const looksOf =
  (kinds: { looks: number }) =>
  (kind: AnyKind): AnyKind => ({
    ...kind,
    desired: (...args) => {
      kinds.looks += 1
      return kind.desired(...args)
    },
  })

const subjects = (name: string) => JSON.stringify(toys.get('RoleBinding', `g-${name}`)?.subjects ?? [])

describe('Reconciler whose watch lags', () => {
  test('does not undo the newer wish that another replica knows', async () => {
    toys.replica()
    const late = toys.replica()
    toys.put('one', { members: ['ada', 'eve'] })
    await toys.pass(1_000)
    toys.api.stall(late.sights.gadgets)
    toys.put('one', { members: ['ada'] })
    await toys.pass(3_000)
    toys.written()
    await toys.pass(110_000)
    expect([subjects('one').includes('eve'), toys.phase('one'), toys.written()]).toEqual([false, 'Ready', []])
  })

  test.each([1, 12])('leaves a shared object to the replica that knows the newer wishes of %i parents', async count => {
    toys.replica()
    const late = toys.replica()
    toys.put('last')
    for (let i = 0; i < count; i += 1) toys.put(`g${i}`)
    await toys.pass(1_000)
    toys.api.stall(late.sights.gadgets)
    toys.written()
    for (let i = 0; i < count; i += 1) toys.put(`g${i}`, { colour: 'blue' })
    await toys.pass(5_000)
    const owners = (colour: string) => toys.get('ConfigMap', `colour-${colour}`)?.metadata.ownerReferences?.length
    expect([owners('red'), owners('blue')]).toEqual([1, count])
    expect(toys.written().filter(write => write.includes('ConfigMap')).length).toBeLessThanOrEqual(3 * count)
    toys.api.catchUp(late.sights.gadgets)
    await toys.pass(1_000)
    expect([owners('red'), owners('blue')]).toEqual([1, count])
  })

  test('gives nothing again by the first of two quick edits, of which it has not seen the second', async () => {
    toys.replica()
    const late = toys.replica()
    toys.put('one')
    await toys.pass(500)
    toys.put('one', { members: ['ada', 'eve'] })
    toys.api.stall(late.sights.gadgets)
    toys.put('one', { members: ['ada'] })
    toys.written()
    await toys.pass(5_000)
    expect([subjects('one').includes('eve'), toys.written()]).toEqual([false, ['status Gadget one']])
  })

  test('waits hardly for a parent that cannot be read', async () => {
    const { get } = toys.api.client
    const hanging = Promise.withResolvers<null>()
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    toys.api.client.get = (ref, options) =>
      ref.kind === 'Gadget' ? unlessAborted(hanging.promise, options?.signal) : get(ref, options)
    const binding = toys.get('RoleBinding', 'g-one')!
    const [ada] = binding.subjects as [object]
    toys.api.put({ ...binding, subjects: [ada, { ...ada, name: 'eve' }] })
    await toys.pass(700)
    expect(subjects('one')).not.toContain('eve')
  })

  test('makes nothing again for a parent that was made again, by what it saw of the former one', async () => {
    const { sights } = toys.replica()
    toys.put('one')
    await toys.pass(500)
    toys.api.stall(sights.gadgets)
    toys.api.remove({ apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', namespace: 'n', name: 'one' })
    toys.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 'g-one' })
    toys.written()
    await toys.pass(10_000)
    expect(toys.written()).toEqual([])
    toys.put('one', { members: ['bob'] })
    toys.api.catchUp(sights.gadgets)
    await toys.pass(2_000)
    expect([toys.phase('one'), subjects('one').includes('bob')]).toEqual(['Ready', true])
  })
})

describe('Reconciler whose leases lapse', () => {
  test('ends right although all replicas act at once', async () => {
    toys.leases.lapsing = true
    for (let i = 0; i < 3; i += 1) toys.replica()
    for (let i = 0; i < 10; i += 1) toys.put(`g${i}`, { members: ['ada', 'eve'] })
    await toys.pass(3_000)
    for (let i = 0; i < 10; i += 1) toys.put(`g${i}`, { members: ['ada'], image: 'app:2' })
    await toys.pass(5_000)
    for (let i = 0; i < 10; i += 1) {
      expect([toys.phase(`g${i}`), subjects(`g${i}`).includes('eve')]).toEqual(['Ready', false])
    }
    toys.written()
    await toys.pass(60_000)
    expect(toys.written()).toEqual([])
  })
})

describe('Reconciler and answers of the API server', () => {
  /** Answers the writes of a kind with an error, `times` times. */
  function answer(kind: string, error: Error, times = Number.POSITIVE_INFINITY): { count: number } {
    const answered = { count: 0 }
    toys.api.onWrite = (_verb, ref) => {
      if (ref.kind !== kind || answered.count >= times) return
      answered.count += 1
      throw error
    }
    return answered
  }

  test.each<[string, Error]>([
    ['409 of a quota', new KubeError(409, 'Conflict', 'the quota was modified')],
    ['404 of a namespace', new KubeError(404, 'NotFound', 'namespaces "n" not found')],
    ['422', new KubeError(422, 'Invalid', 'spec: Invalid value')],
    ['429 or 5xx', new RetryLater('Kubernetes does not answer for now', 2_000)],
  ])('comes back to a creation that was answered with %s', async (_what, error) => {
    toys.replica()
    const answered = answer('Service', error, 3)
    toys.put('one')
    await toys.pass(20_000)
    expect([answered.count, toys.phase('one')]).toEqual([3, 'Ready'])
  })

  test('pauses between refusals of the same wish', async () => {
    toys.replica()
    const answered = answer('Service', new KubeError(422, 'Invalid', 'spec: Invalid value'))
    toys.put('one')
    await toys.pass(300_000)
    expect(answered.count).toBeGreaterThan(5)
    expect(answered.count).toBeLessThan(15)
  })

  test('pauses between refusals whose words differ, and between the statuses that tell them', async () => {
    for (let i = 0; i < 3; i += 1) toys.replica()
    let refused = 0
    toys.api.onWrite = (_verb, { kind }) => {
      if (kind !== 'Deployment') return
      refused += 1
      if (refused > 1_000) throw new Error('tried without a pause')
      throw new KubeError(403, 'Forbidden', `denied, request ${refused}`)
    }
    toys.put('one')
    await toys.pass(60_000)
    const statuses = toys.written().filter(write => write.startsWith('status '))
    // After 0, 1, 3, 7, 15, 31 and 63 s at most, by each replica.
    expect([refused, statuses.length].map(count => count > 3 && count < 3 * 8)).toEqual([true, true])
    expect(toys.get('Gadget', 'one')!.status).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining('denied, request'),
    })
  })

  test('sends nothing again for edits that change no wish, until the pause is over', async () => {
    toys.replica()
    const answered = answer('Deployment', new KubeError(403, 'Forbidden', 'denied'))
    toys.put('one')
    await toys.pass(20_000)
    const before = answered.count
    for (let i = 0; i < 100; i += 1) {
      toys.put('one')
      await toys.pass(10)
    }
    expect(answered.count - before).toBeLessThanOrEqual(1)
    toys.put('one', { image: 'app:2' })
    await toys.pass(100)
    expect(answered.count - before).toBeGreaterThanOrEqual(1)
  })

  test('tries a revocation that is refused again at an urgent event, a second later', async () => {
    toys.replica()
    toys.put('one', { members: ['ada', 'eve'] })
    await toys.pass(500)
    const answered = answer('RoleBinding', new KubeError(403, 'Forbidden', 'denied'))
    toys.put('one', { members: ['ada'] })
    for (let i = 0; i < 50; i += 1) {
      await toys.pass(100)
      toys.put('one', { members: ['ada'] })
    }
    expect(answered.count).toBeGreaterThanOrEqual(4)
    expect(answered.count).toBeLessThanOrEqual(8)
  })

  test('pauses when its status is refused', async () => {
    toys.replica()
    const answered = answer('Gadget', new KubeError(422, 'Invalid', 'status: Invalid value'))
    toys.put('one')
    for (let i = 0; i < 50; i += 1) {
      toys.put('one')
      await toys.pass(100)
    }
    expect(answered.count).toBeLessThan(6)
  })

  test('waits as long as the server asks for', async () => {
    toys.replica()
    const answered = answer('Service', new RetryLater('busy', 30_000))
    toys.put('one')
    await toys.pass(29_000)
    expect(answered.count).toBe(1)
  })

  test('reads an object that has another UID by now', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    const answered = { count: 0 }
    toys.api.onWrite = (_verb, ref) => {
      if (ref.kind !== 'Deployment' || answered.count > 0) return
      answered.count += 1
      toys.api.put({ ...toys.get('Deployment', 'g-one')!, spec: { replicas: 7 } })
      throw new KubeError(422, 'Invalid', 'metadata.uid: field is immutable')
    }
    toys.put('one', { image: 'app:2' })
    await toys.pass(500)
    expect(JSON.stringify(toys.get('Deployment', 'g-one')!.spec)).toContain('app:2')
    expect(toys.log.messages).toEqual([])
  })

  test('tells why a change was refused, although the object is the same', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    answer('Deployment', new KubeError(422, 'Invalid', 'spec.image: Invalid value'))
    toys.put('one', { image: 'app:2' })
    await toys.pass(500)
    expect(toys.get('Gadget', 'one')!.status).toMatchObject({ phase: 'Failed', message: 'spec.image: Invalid value' })
  })

  test('hears no event that is not urgent between refusals', async () => {
    const { gadgets } = toys.replica()
    const answered = answer('Service', new KubeError(422, 'Invalid', 'spec: Invalid value'))
    toys.put('one')
    await toys.pass(30_000)
    const before = answered.count
    for (let i = 0; i < 10; i += 1) {
      gadgets.poke('n/one')
      await toys.pass(100)
    }
    expect(answered.count - before).toBeLessThanOrEqual(1)
  })

  test('does not take a missing status for a missing parent', async () => {
    const gone: string[] = []
    toys.replica({
      change: ((kind: AnyKind) => ({ ...kind, onGone: async (key: string) => void gone.push(key) })) as never,
    })
    toys.api.hasStatus = false
    toys.put('one')
    await toys.pass(5_000)
    expect([toys.names('RoleBinding'), gone]).toEqual([['g-one'], []])
  })

  test('tells and logs the server’s words, but no long quotation', async () => {
    const logged: object[] = []
    toys.log.warn = fields => void logged.push(fields)
    toys.replica()
    const words = `spec: Invalid value: "${'x'.repeat(1_000_000)}": must be no more than 253 characters`
    answer('Service', new KubeError(422, 'Invalid', words))
    toys.put('one')
    toys.put('two')
    await toys.pass(10_000)
    const { message } = toys.get('Gadget', 'one')!.status as { message: string }
    expect(message).toMatch(/^spec: Invalid value: .* must be no more than 253 characters$/)
    expect([logged.length, JSON.stringify(logged).length < 4_000]).toEqual([1, true])
  })

  test('tells that the API server does not answer, at the third try', async () => {
    toys.replica()
    answer('Deployment', new RetryLater('Kubernetes does not answer for now: webhook down'))
    toys.put('one')
    await toys.pass(1_000)
    expect(toys.get('Gadget', 'one')!.status).toBeUndefined()
    await toys.pass(5_000)
    expect(toys.get('Gadget', 'one')!.status).toMatchObject({
      ...{ phase: 'Failed', message: 'Kubernetes does not answer for now: webhook down' },
    })
  })
})

describe('Reconciler and Redis', () => {
  test('goes on without a lease that does not come, and gives it back when it does', async () => {
    const late = Promise.withResolvers<void>()
    toys.leases.late = late.promise
    toys.replica()
    toys.put('one')
    await toys.pass(1_500)
    expect(toys.names('RoleBinding')).toEqual(['g-one'])
    late.resolve()
    toys.leases.late = undefined
    await toys.pass(100)
    expect([...toys.leases.held]).toEqual([])
  })

  test('asks nothing of a silent Redis but a lease, and nothing at all until it is asked again', async () => {
    const begun: string[] = []
    const route: Effect = { name: 'route', mark: '1', apply: async () => void begun.push('route') }
    toys.leases.silent = true
    const { gadgets } = toys.replica({ change: holding(() => ({ effects: [route] })) as never })
    toys.put('one')
    await toys.pass(450)
    const { asked } = toys.leases
    gadgets.poke('n/one')
    await toys.pass(50)
    expect([begun, toys.leases.asked - asked, toys.names('RoleBinding')]).toEqual([[], 0, ['g-one']])
    toys.leases.silent = false
    await toys.pass(6_000)
    expect(begun).toEqual(['route'])
  })

  test('writes effects again when Redis has lost them, and when the parent was made again', async () => {
    const written: string[] = []
    const route: Effect = { name: 'route', mark: '1', apply: async () => void written.push('route') }
    const { gadgets } = toys.replica({ change: holding(() => ({ effects: [route] })) as never })
    toys.put('one')
    await toys.pass(500)
    gadgets.poke('n/one', true)
    await toys.pass(500)
    expect(written).toHaveLength(1)
    gadgets.effectsLost()
    await toys.pass(500)
    expect(written).toHaveLength(2)
    toys.api.remove({ apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', namespace: 'n', name: 'one' })
    await toys.pass(500)
    toys.put('one')
    await toys.pass(500)
    expect(written).toHaveLength(3)
  })

  test('writes effects and statuses for a parent that was made again at once', async () => {
    const written: string[] = []
    const route: Effect = { name: 'route', mark: '1', apply: async () => void written.push('route') }
    toys.replica({ change: holding(() => ({ effects: [route] })) as never })
    toys.put('one')
    await toys.pass(500)
    toys.api.remove({ apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', namespace: 'n', name: 'one' })
    toys.put('one')
    await toys.pass(1_000)
    expect([written.length, toys.phase('one')]).toEqual([2, 'Ready'])
  })

  test('does not wait for what failed of a former parent', async () => {
    toys.replica()
    toys.api.onWrite = (_verb, { kind }) => {
      if (kind === 'Deployment') throw new KubeError(403, 'Forbidden', 'denied')
    }
    toys.put('one')
    await toys.pass(20_000)
    toys.api.onWrite = () => {}
    toys.api.remove({ apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', namespace: 'n', name: 'one' })
    toys.put('one')
    await toys.pass(1_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('reads the parent when an effect is fenced, and calls that no failure', async () => {
    let tries = 0
    const fenced = async () => {
      tries += 1
      if (tries === 1) throw new Fenced('a newer generation is known')
    }
    toys.replica({ change: holding(() => ({ effects: [{ name: 'route', mark: '1', apply: fenced }] })) as never })
    toys.put('one')
    const phases = new Set<unknown>()
    for (let i = 0; i < 50; i += 1) {
      await toys.pass(20)
      phases.add(toys.phase('one'))
    }
    expect([tries, [...phases], toys.log.messages]).toEqual([2, [undefined, 'Ready'], []])
  })

  test('makes the objects although the effects hang, and waits for one of them only', async () => {
    const begun: string[] = []
    const hanging = Promise.withResolvers<void>()
    const effect = (name: string): Effect => ({
      name,
      mark: '1',
      apply: () => {
        begun.push(name)
        return hanging.promise
      },
    })
    toys.replica({ change: holding(() => ({ effects: ['a', 'b', 'c'].map(effect) })) as never })
    toys.put('one')
    await toys.pass(1_300)
    expect([begun, toys.names('RoleBinding')]).toEqual([['a'], ['g-one']])
    expect(toys.get('Gadget', 'one')!.status).toMatchObject({ message: 'a, b, c waits for Redis' })
    hanging.resolve()
    await toys.pass(3_000)
    expect([begun, toys.get('Gadget', 'one')!.status]).toMatchObject([['a', 'a', 'b', 'c'], { message: '' }])
  })
})

describe('Reconciler and time', () => {
  test('looks once at what is due, in time, and does not look again and again', async () => {
    const counted = { looks: 0 }
    const dueMs = toys.clock.wallMs() + 90_000
    const change = (kind: AnyKind) => looksOf(counted)(holding(() => ({ dueMs }))(kind))
    toys.replica({ change: change as never })
    toys.put('one')
    await toys.pass(500)
    counted.looks = 0
    await toys.pass(89_000)
    const before = counted.looks
    await toys.pass(1_000)
    const after = counted.looks - before
    await toys.pass(60_000)
    expect([before, after, counted.looks - before]).toEqual([1, 1, 1])
  })

  test('notices within a minute that the wall clock was stepped', async () => {
    const change = holding(nowMs => (nowMs < 1e9 ? { dueMs: 1e9 } : { objects: [] }))
    toys.replica({ change: change as never })
    toys.put('one')
    await toys.pass(500)
    expect(toys.names('RoleBinding')).toEqual(['g-one'])
    toys.clock.stepWall(1e9)
    await toys.pass(60_500)
    expect(toys.names('RoleBinding')).toEqual([])
  })

  test('has a place for what is not urgent, however little room there is', async () => {
    toys.replica({ room: 1 })
    toys.put('one')
    await toys.pass(1_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('keeps places for what is urgent while all else hangs', async () => {
    toys.replica({ room: 4 })
    toys.put('old', { members: ['ada', 'eve'] })
    await toys.pass(500)
    const answered = Promise.withResolvers<void>()
    toys.api.onWrite = (_verb, { kind }) => (kind === 'Service' ? answered.promise : undefined)
    for (let i = 0; i < 10; i += 1) toys.put(`g${i}`)
    await toys.pass(200)
    toys.put('old', { members: ['ada'] })
    await toys.pass(200)
    expect(subjects('old')).not.toContain('eve')
    answered.resolve()
    await toys.pass(1_000)
  })

  test('looks at what others made, while one person edits parents again and again', async () => {
    const shareOf = (key: string) => /^n\/(\w+)-/.exec(key)?.[1] ?? key
    toys.replica({ room: 4, change: (kind => ({ ...kind, shareOf })) as never })
    for (let i = 0; i < 60; i += 1) toys.put(`mallory-${i}`)
    await toys.pass(8_000)
    toys.api.onWrite = () => toys.clock.sleep(20)
    toys.put('ada-0')
    for (let ms = 0; ms < 1_000; ms += 10) {
      for (let i = 0; i < 3; i += 1) toys.put(`mallory-${(3 * (ms / 10) + i) % 60}`, { image: `app:${ms}` })
      await toys.pass(10)
    }
    expect(toys.phase('ada-0')).toBe('Ready')
  })

  test('pauses after turns that took too long', async () => {
    toys.replica()
    let writes = 0
    toys.api.onWrite = (_verb, { kind }) => {
      if (kind !== 'Service') return
      writes += 1
      toys.clock.advance(7_000)
      toys.api.objects.delete('v1 Service n/g-one')
      throw new RetryLater('no answer')
    }
    toys.put('one')
    await toys.pass(60_000)
    expect(writes).toBeLessThan(10)
  })
})

describe('Reconciler and strangers', () => {
  test('takes a right away also beside an object that left what its watch selects', async () => {
    toys.replica({ selects: ({ kind, metadata }) => kind !== 'RoleBinding' || metadata.labels?.hidden === undefined })
    toys.put('one', { members: ['ada'] })
    await toys.pass(500)
    const binding = toys.get('RoleBinding', 'g-one')!
    const [ada] = binding.subjects as [object]
    const labels = { hidden: 'x' }
    toys.api.put({ ...binding, metadata: { ...binding.metadata, labels }, subjects: [ada, { ...ada, name: 'eve' }] })
    await toys.pass(1_000)
    expect([subjects('one').includes('eve'), toys.phase('one')]).toEqual([false, 'Ready'])
  })

  test('notices that a conflict is over which its watch does not show', async () => {
    const selects: Selects = ({ kind, metadata }) => kind !== 'Service' || metadata.ownerReferences !== undefined
    toys.replica({ selects })
    const metadata = { name: 'g-one', namespace: 'n' }
    toys.api.put({ apiVersion: 'v1', kind: 'Service', metadata })
    toys.put('one')
    await toys.pass(300_000)
    // A conflict is read, and not tried again.
    const tries = toys.failpoints.filter(name => name === 'reconcile.gadget.create.Service.before-send')
    expect([toys.phase('one'), tries.length]).toEqual(['Conflict', 1])
    toys.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 'g-one' })
    await toys.pass(61_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('leaves an object of another parent, and tells it', async () => {
    toys.replica()
    const owner = { apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', name: 'two', uid: 'uid-of-two' }
    const metadata = { name: 'g-one', namespace: 'n', ownerReferences: [owner] }
    const theirs = toys.api.put({ apiVersion: 'v1', kind: 'Service', metadata })
    toys.put('one')
    await toys.pass(5_000)
    expect([toys.get('Service', 'g-one'), toys.phase('one'), toys.names('RoleBinding')]).toEqual([
      theirs,
      'Conflict',
      [],
    ])
  })

  test('does not call a conflict contended, however often other objects change', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    const service = toys.get('Service', 'g-one')!
    toys.api.put({ ...service, metadata: { ...service.metadata, ownerReferences: [] } })
    for (let i = 0; i < 10; i += 1) {
      await toys.pass(500)
      toys.api.put({ ...toys.get('Deployment', 'g-one')!, spec: { replicas: i } })
    }
    await toys.pass(500)
    expect(toys.phase('one')).toBe('Conflict')
    toys.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 'g-one' })
    await toys.pass(1_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('reads a last wish that somebody wrote as none, or as one', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    for (const last of [
      '',
      '[',
      'null',
      '{"spec":{"selector":7}}',
      '{"__proto__":{"spec":1}}',
      `${'['.repeat(50_000)}`,
    ]) {
      const service = toys.get('Service', 'g-one')!
      const annotations = { ...service.metadata.annotations, 'skylab/last': last }
      toys.put('one', { image: `app:${last.length}` })
      toys.api.put({ ...service, metadata: { ...service.metadata, annotations } })
      await toys.pass(2_000)
      const after = toys.get('Service', 'g-one')!
      expect([after.metadata.annotations, toys.phase('one')]).toEqual([service.metadata.annotations, 'Ready'])
    }
  })

  test.each<[string, object]>([
    ['nothing in it', {}],
    ['other types', { colour: 7, members: 'ada', image: ['x'] }],
    ['names of JavaScript', { colour: '__proto__', members: ['constructor', 'toString'], image: '__proto__' }],
    ['deep lists', { members: JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) }],
  ])('goes on with others beside a parent with %s', async (_what, spec) => {
    toys.replica()
    const known = toys.put('bad')
    toys.api.put({ ...known, spec })
    toys.put('good')
    await toys.pass(1_000)
    expect(toys.phase('good')).toBe('Ready')
  })

  test('goes on with others beside a parent for which the kind throws', async () => {
    const change = (kind: AnyKind): AnyKind => ({
      ...kind,
      desired: (key, ...args) => {
        if (key === 'n/bad') throw new Error('a defect')
        return kind.desired(key, ...args)
      },
    })
    toys.replica({ change: change as never, room: 1 })
    toys.put('bad')
    toys.put('good')
    await toys.pass(60_000)
    expect(toys.phase('good')).toBe('Ready')
    expect(toys.log.messages).toEqual(['error: a turn of a custom resource failed'])
  })
})
