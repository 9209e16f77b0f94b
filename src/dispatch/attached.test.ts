import { Duplex } from 'node:stream'
import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Attached, RefusedByRunner, UnansweredByRunner } from './attached.ts'
import { longestLineBytes, mostRuns } from './protocol.ts'

const uuid = 'zzzzz-dz642-000000000000001'
const spec = {
  ...{ command: ['true'], image: '', environment: {}, cwd: '', mounts: {} },
  ...{ vcpus: 1, ramBytes: 0, maxRunSeconds: 0 },
}
const warrant = { uuid, run: 1, owner: 'ada', spec, seal: 'seal' }
const listed = { ...warrant, state: 'running', seq: 1 } as const

/** The machine's side of a channel: what it was asked, and what the test lets it say. */
let asked: Record<string, unknown>[]
let stream: Duplex
let clock: ManualClock
let told: unknown[]
let closed: unknown[]
let attached: Attached
const say = (words: unknown) => stream.push(`${typeof words === 'string' ? words : JSON.stringify(words)}\n`)
const settled = () => new Promise(resolve => setImmediate(resolve))

beforeEach(() => {
  ;[asked, told, closed] = [[], [], []]
  clock = new ManualClock()
  stream = new Duplex({
    read: () => {},
    write: (bytes, _, done) => {
      asked.push(JSON.parse(String(bytes)))
      done()
    },
  })
  attached = new Attached({
    ...{ stream, clock, secret: 'the secret' },
    onEntry: each => void told.push(each),
    onBeat: each => void told.push(each),
    onClosed: error => void closed.push(error),
  })
})

const refused = { type: 'refused', why: 'run', message: 'no', highest: 9, secret: 'the secret' }

describe('Attached', () => {
  it('answers each question by its id', async () => {
    const hello = attached.hello(7)
    say({ type: 'welcome', epoch: 7, version: '1', highestRun: 4 })
    expect(await hello).toEqual({ version: '1', highestRun: 4 })
    const [list, start] = [attached.list(), attached.start(warrant)]
    say({ type: 'started', id: 2, uuid, run: 1 })
    say({ type: 'listed', id: 1, runs: [listed], more: true })
    say({ type: 'listed', id: 1, runs: [], broken: 'smoke' })
    await start
    expect(await list).toEqual({ runs: [listed], broken: 'smoke' })
    expect(asked.map(({ type }) => type)).toEqual(['hello', 'list', 'start'])
  })

  it.each([
    ['the secret', 9],
    ['another', undefined],
    ['', undefined],
  ])('believes the highest number of a refusal with %j only if that is the secret', async (secret, highest) => {
    const start = attached.start(warrant)
    say({ ...refused, id: 1, secret })
    await expect(start).rejects.toMatchObject({ why: 'run', highest })
    expect(closed).toEqual([])
  })

  it('believes nothing when no secret is known', async () => {
    const quiet = new Duplex({ read: () => {}, write: (_bytes, _, done) => done() })
    const ignored = { onEntry: () => {}, onBeat: () => {}, onClosed: () => {} }
    const start = new Attached({ stream: quiet, clock, secret: '', ...ignored }).start(warrant)
    quiet.push(`${JSON.stringify({ ...refused, id: 1, secret: '' })}\n`)
    await expect(start).rejects.toMatchObject({ highest: undefined })
  })

  it('is closed by a refusal of its epoch', async () => {
    const [hello, list] = [attached.hello(7), attached.list()]
    say({ ...refused, why: 'epoch' })
    await expect(hello).rejects.toBeInstanceOf(RefusedByRunner)
    await expect(list).rejects.toMatchObject({ why: 'epoch', highest: 9 })
    expect(closed).toMatchObject([{ why: 'epoch' }])
    await expect(attached.list()).rejects.toBeInstanceOf(UnansweredByRunner)
  })

  it.each([
    ['no JSON', 'garbage'],
    ['an unknown type', { type: 'dance' }],
    ['an entry without a number', { type: 'entry', uuid, run: 1, seq: 0, entry: { kind: 'lost', atMs: 1, bytes: 1 } }],
    [
      'a run beyond safe numbers',
      { type: 'entry', uuid, run: 2 ** 60, seq: 1, entry: { kind: 'lost', atMs: 1, bytes: 1 } },
    ],
    ['too much output', entryOf({ kind: 'output', atMs: 1, stream: 'stdout', base64: 'A'.repeat(50_000) })],
    ['an end that is none', entryOf({ kind: 'ended', atMs: 1, end: { exitCode: 'zero' } })],
    ['a line that is too long', ' '.repeat(longestLineBytes + 1)],
  ])('closes at %s', async (_, words) => {
    const list = attached.list()
    say(words)
    await expect(list).rejects.toBeInstanceOf(UnansweredByRunner)
    expect([closed.length, told, stream.destroyed]).toEqual([1, [], true])
  })

  it('closes when a machine lists more runs than it may have', async () => {
    const list = attached.list()
    for (let i = 0; i <= mostRuns; i++) say({ type: 'listed', id: 1, runs: [listed], more: true })
    await expect(list).rejects.toThrow('too many runs')
  })

  it('gives up an answer after a time, and drops it when it comes late', async () => {
    const start = attached.start(warrant)
    await settled()
    clock.advance(30_000)
    await expect(start).rejects.toBeInstanceOf(UnansweredByRunner)
    say({ type: 'started', id: 1, uuid, run: 1 })
    await settled()
    expect(closed).toEqual([])
  })

  it('drops answers to nothing, and those of another kind', async () => {
    const kill = attached.kill(uuid, 1)
    say({ type: 'started', id: 1, uuid, run: 1 })
    say({ type: 'killing', id: 77, uuid, run: 1 })
    say({ type: 'killing', id: 1, uuid, run: 1 })
    await kill
    expect(closed).toEqual([])
  })

  it('waits with the next entry until one is handled', async () => {
    const handled = Promise.withResolvers<void>()
    const order: string[] = []
    const slow = new Duplex({ read: () => {}, write: (_bytes, _, done) => done() })
    new Attached({
      ...{ stream: slow, clock, secret: 's', onBeat: () => order.push('beat'), onClosed: () => {} },
      onEntry: async () => {
        order.push('begin')
        await handled.promise
        order.push('end')
      },
    })
    slow.push(
      `${JSON.stringify(entryOf({ kind: 'lost', atMs: 1, bytes: 1 }))}\n${JSON.stringify({ type: 'beat', atMs: 1, load: 0 })}\n`,
    )
    await settled()
    expect(order).toEqual(['begin'])
    handled.resolve()
    await settled()
    expect(order).toEqual(['begin', 'end', 'beat'])
  })

  it('says that it was closed when the machine ends the channel', async () => {
    const list = attached.list()
    stream.push(null)
    await expect(list).rejects.toBeInstanceOf(UnansweredByRunner)
    expect(closed).toEqual([undefined])
  })
})

function entryOf(entry: object) {
  return { type: 'entry', uuid, run: 1, seq: 1, entry }
}
