/** The streams of events of an LNamespace whose name another one takes over in one turn of the event loop. */
import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { KubeObject } from '../../base/domain.ts'
import type { ChangeListener } from '../../kube/picture.ts'
import type { Fact } from '../../reconcile/types.ts'
import { Keys } from '../../store/keys.ts'
import { silentLogger } from '../../telemetry/log.ts'
import { joinEvents } from './rest.ts'

const series = 1

/** A watch on the LNamespace `blue`, and a Redis with events of it, which knows no UIDs. */
function site() {
  const told = ['condition']
  let uid: string | undefined = 'u1'
  let isStored = true
  const listeners = new Set<ChangeListener<Fact>>()
  const lnamespaces = {
    get: () => uid && { uid },
    on: (listener: ChangeListener<Fact>) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const other = { on: () => () => {} }
  const connection = {
    run: async (_script: string, _keys: unknown, [of, after]: [number | '', number]) => {
      const seqs = told.map((_, at) => at + 1).filter(seq => seq > (of === '' ? 0 : after))
      const entries = seqs.map(seq => [`${series}-${seq}`, ['event', told[seq - 1], 'data', '{}']])
      return ['events', series, told.length, entries]
    },
    onMove: () => () => {},
  }
  const { open } = joinEvents(
    {
      basics: { clock: new ManualClock(), log: silentLogger() },
      world: { sights: { lnamespaces, clusterRoles: other, clusterRoleBindings: other } } as never,
      access: { connection, keys: new Keys('t') } as never,
      kube: { get: async () => (isStored ? ({} as KubeObject) : null) },
    },
    { request: () => {} },
  )
  return {
    told,
    open: (lastEventId?: string) => open('blue', lastEventId, new AbortController().signal),
    /** The watch shows none. */
    hide: (more: { readonly isStored: boolean }) => {
      uid = undefined
      isStored = more.isStored
    },
    /** Both changes come in one turn, as after a relist. */
    replace: () => {
      const change = { namespace: '', name: 'blue', value: {} as Fact }
      for (const listener of listeners) listener({ ...change, type: 'gone', uid: 'u1', confirmed: false })
      uid = 'u2'
      for (const listener of listeners) listener({ ...change, type: 'put', uid: 'u2' })
    },
  }
}

async function follow(opening: ReturnType<ReturnType<typeof site>['open']>) {
  const feed = await opening
  if (feed === null || feed === 'ended') throw new Error(`no stream: ${feed}`)
  return feed.read(new AbortController().signal)[Symbol.asyncIterator]()
}

test('joinEvents ends a stream when another LNamespace takes over its name in one turn', async () => {
  const { told, open, replace } = site()
  const batches = await follow(open())
  expect((await batches.next()).value).toMatchObject([{ event: 'condition' }])
  const next = batches.next()
  replace()
  told.push('granted')
  expect((await next).value).toEqual([{ event: 'gone', data: '{}' }])
  expect((await batches.next()).done).toBe(true)
})

test('joinEvents gives each client its own LNamespace when both open the same place in one turn', async () => {
  const { open, replace } = site()
  const former = open()
  replace()
  const present = follow(open())
  expect(await former).toBe(null)
  expect((await (await present).next()).value).toMatchObject([{ id: '1-1', event: 'condition' }])
})

test('joinEvents says that an LNamespace is gone only when the API server has none', async () => {
  const { open, hide } = site()
  hide({ isStored: true })
  await expect(open('1-1')).rejects.toMatchObject({ status: 503 })
  expect(await open()).toBeNull()
  hide({ isStored: false })
  expect(await open('1-1')).toBe('ended')
})
