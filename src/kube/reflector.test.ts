import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, hang, json, reset, ScriptedServer, status, stream } from '../../test/kit/kube/server.ts'
import { keepingLog, silentLog } from '../../test/kit/log.ts'
import { systemClock } from '../base/clock.ts'
import type { KubeObject } from '../base/domain.ts'
import { KubeClient } from './client.ts'
import { Reflector, type ReflectorOptions, type ReflectorTimes } from './reflector.ts'
import {
  bookmark,
  expired,
  line,
  list,
  listsOf,
  pod,
  says,
  saysAndEnds,
  startOf,
  watchesOf,
} from './testing/objects.ts'

/** Times that are short enough for tests; only tests of a time wait for it. */
const times: Partial<ReflectorTimes> = { pauseMs: 1, pauseCapMs: 5, relistGapMs: 1 }

let server: ScriptedServer
let client: KubeClient
let reflector: Reflector<string>
/** Changes as words: `put a=1`, `put a=2 (1)`, `gone a=2!` (confirmed), `gone a=2?`. */
let changes: string[]
let wake: () => void

beforeEach(async () => {
  server = await new ScriptedServer().listen()
  server.fallback = hang
  const kubernetes = { kubeconfig: server.kubeconfig(), requestTimeoutSeconds: 10, maxInFlight: 4 }
  client = new KubeClient({ kubernetes, version: '0', replica: 'r', clock: systemClock, log: silentLog })
  changes = []
})

afterEach(async () => {
  await reflector.stop()
  await client.close()
  await server.close()
})

function reflect(options: Partial<ReflectorOptions<string>> = {}, earlier?: () => void): Reflector<string> {
  reflector = new Reflector<string>({
    client,
    apiVersion: 'v1',
    kind: 'Pod',
    project: object => `${object.metadata.name}=${object.metadata.resourceVersion}`,
    clock: systemClock,
    log: silentLog,
    ...options,
    times: { ...times, ...options.times },
  })
  if (earlier) reflector.on(earlier)
  reflector.on(change => {
    const previous = change.type === 'put' && change.previous ? ` (${change.previous})` : ''
    const proof = change.type === 'gone' ? (change.confirmed ? '!' : '?') : ''
    changes.push(`${change.type} ${change.value}${proof}${previous}`)
    wake?.()
  })
  reflector.start()
  return reflector
}

/** Resolves after this many changes. */
async function untilTold(count: number): Promise<string[]> {
  while (changes.length < count) await new Promise<void>(resolve => (wake = resolve))
  return changes
}

describe('Reflector', () => {
  test('begins with a list, then opens a watch with bookmarks and a time-out', async () => {
    server.script.push(list(5, pod('a', 3)), says(line('ADDED', pod('b', 6)), line('MODIFIED', pod('a', 7))))
    reflect({ labelSelector: 'x=y', fieldSelector: 'f=g' })
    expect(await untilTold(3)).toEqual(['put a=3', 'put b=6', 'put a=7 (a=3)'])
    const [first, second] = server.received
    expect(Object.fromEntries(first!.query)).toEqual({ labelSelector: 'x=y', fieldSelector: 'f=g', limit: '500' })
    expect(Object.fromEntries(second!.query)).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      labelSelector: 'x=y',
      fieldSelector: 'f=g',
      resourceVersion: '5',
      timeoutSeconds: '300',
    })
    expect(reflector.get('ns/a')).toBe('a=7')
    expect([...reflector.values()]).toEqual(['b=6', 'a=7'])
    expect([...reflector.byNamespace('ns')]).toEqual(['b=6', 'a=7'])
    expect([...reflector.byNamespace('other')]).toEqual([])
    expect(reflector.size).toBe(2)
  })

  test('is synced after the first list', async () => {
    const began = Promise.withResolvers<() => void>()
    server.script.push((request, response) => began.resolve(() => list(1)(request, response)))
    let syncs = 0
    const synced = reflect({ onSync: () => (syncs += 1) }).whenSynced(AbortSignal.timeout(5_000))
    const answer = await began.promise
    expect(reflector.synced()).toBe(false)
    await expect(reflector.whenSynced(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
    answer()
    await synced
    expect(reflector.synced()).toBe(true)
    expect(syncs).toBe(1)
  })

  test('drops an object on DELETED, as confirmed', async () => {
    server.script.push(list(1, pod('a', 1)), says(line('DELETED', pod('a', 2))))
    reflect()
    expect(await untilTold(2)).toEqual(['put a=1', 'gone a=2!'])
    expect(reflector.get('ns/a')).toBeUndefined()
  })

  test('keeps a newer object when an older one of its name is reported deleted late', async () => {
    server.script.push(list(5, pod('a', 5, 'young')), says(line('DELETED', pod('a', 6, 'old'))))
    reflect()
    expect(await untilTold(2)).toEqual(['put a=5', 'gone a=6!'])
    expect(reflector.get('ns/a')).toBe('a=5')
  })

  test('keeps a limited number of objects per namespace, those changed last', async () => {
    const events = [line('MODIFIED', pod('a', 4)), line('ADDED', pod('c', 5))]
    server.script.push(list(3, pod('a', 1), pod('b', 2)), says(...events))
    reflect({ keepPerNamespace: 2 })
    await untilTold(4)
    expect([...reflector.byNamespace('ns')]).toEqual(['a=4', 'c=5'])
  })

  test('keeps nothing of an object that is projected to undefined', async () => {
    server.script.push(
      list(3, pod('a', 1), pod('b', 2)),
      says(line('DELETED', pod('a', 4)), line('ADDED', pod('c', 5))),
    )
    reflect({ project: object => (object.metadata.name === 'a' ? undefined : object.metadata.name) })
    expect(await untilTold(2)).toEqual(['put b', 'put c'])
  })
})

describe('Reflector resumes the watch at its last version when the watch ends', () => {
  test.each<[string, Answer]>([
    ['closed by the server', saysAndEnds(line('ADDED', pod('a', 2)), bookmark(9))],
    ['reset', stream(response => response.write(line('ADDED', pod('a', 2)) + bookmark(9), () => response.destroy()))],
    ['cut in the middle of a line', saysAndEnds(line('ADDED', pod('a', 2)), bookmark(9), '{"type":"ADD')],
    ['broken JSON', says(line('ADDED', pod('a', 2)), bookmark(9), '{"type":oops}\n')],
  ])('after %s', async (_name, answer) => {
    server.script.push(list(1), answer, says(line('ADDED', pod('b', 10))))
    reflect()
    expect(await untilTold(2)).toEqual(['put a=2', 'put b=10'])
    expect(listsOf(server.received)).toHaveLength(1)
    expect(startOf(server.received[2])).toBe('9')
  })

  test.each<[string, Answer]>([
    ['refused for too many requests', status(429, 'TooManyRequests')],
    ['a server in trouble', status(503, 'ServiceUnavailable')],
    ['rights that are not there yet', status(403, 'Forbidden')],
    ['a connection that is reset', reset],
  ])('on %s when it is opened', async (_name, answer) => {
    server.script.push(list(7), answer, answer, says(line('ADDED', pod('b', 10))))
    reflect()
    await untilTold(1)
    expect(watchesOf(server.received).map(startOf)).toEqual(['7', '7', '7'])
    expect(listsOf(server.received)).toHaveLength(1)
  })
})

describe('Reflector, when its watch is refused,', () => {
  const words = 'pods is forbidden: User "s" cannot watch resource "pods"'
  const refused: Answer = (_, response) => {
    const body = { kind: 'Status', code: 403, reason: 'Forbidden', message: words }
    response.writeHead(403, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  }

  test('logs the remedy once, names it while the refusal lasts, and logs the end', async () => {
    const log = keepingLog()
    const opened = Promise.withResolvers<ServerResponse>()
    server.script.push(list(7), ...Array.from({ length: 20 }, () => refused))
    server.script.push((_, response) => opened.resolve(response))
    reflect({ log: { ...log, debug: () => {} } })
    const response = await opened.promise
    expect(reflector.trouble()).toMatch(/cannot watch resource "pods": apply k8s\/base\/rbac\.yaml/)
    expect(log.messages).toEqual(['warn: watch failed again'])
    response.writeHead(200).write(line('ADDED', pod('b', 10)))
    await untilTold(1)
    expect(reflector.trouble()).toBeUndefined()
    expect(log.messages).toEqual(['warn: watch failed again', 'info: watch works again'])
  })
})

describe('Reflector lists again', () => {
  test.each<[string, Answer]>([
    ['410 in the stream', says(line('ERROR', expired))],
    ['any other error in the stream', says(line('ERROR', { kind: 'Status', code: 500, reason: 'InternalError' }))],
    ['410 when the watch is opened', status(410, 'Expired')],
    ['a resource version that makes no sense', status(400, 'BadRequest')],
  ])('on %s', async (_name, answer) => {
    const before = [pod('same', 1), pod('changed', 2), pod('lost', 3), pod('new', 4, 'first')]
    const after = [pod('same', 1), pod('changed', 12), pod('new', 14, 'second'), pod('more', 15)]
    server.script.push(list(5, ...before), answer, list(20, ...after), says(line('ADDED', pod('end', 21))))
    reflect()
    expect((await untilTold(10)).slice(4)).toEqual([
      'put changed=12 (changed=2)',
      'gone new=4?',
      'put new=14',
      'put more=15',
      'gone lost=3?',
      'put end=21',
    ])
    expect(watchesOf(server.received).map(startOf)).toEqual(['5', '20'])
  })

  test('when the list itself is answered with 410', async () => {
    const gone = status(410, 'Expired')
    server.script.push(gone, gone, list(5, pod('a', 1)), says())
    reflect()
    expect(await untilTold(1)).toEqual(['put a=1'])
  })

  test('when a list expires between pages, and drops objects of its first pages only', async () => {
    const items = [pod('early', 1), pod('a', 2)]
    const page = json({ metadata: { resourceVersion: '5', continue: 'next' }, items })
    server.script.push(page, status(410, 'Expired'), list(9, pod('a', 2)), says())
    reflect()
    expect(await untilTold(3)).toEqual(['put early=1', 'put a=2', 'gone early=1?'])
  })

  test('after the resync time in any case', async () => {
    server.script.push(list(5, pod('a', 1)), saysAndEnds(bookmark(6)), list(9), says())
    reflect({ times: { resyncMs: 1, pauseMs: 10 } })
    expect(await untilTold(2)).toEqual(['put a=1', 'gone a=1?'])
  })
})

describe('Reflector, for values that are read later,', () => {
  /** A line as API servers write it, with this after its metadata. */
  const encoded = (type: string, name: string, version: number, rest = '}}') =>
    `{"type":"${type}","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}","namespace":"ns","uid":"uid-${name}","resourceVersion":"${version}"}${rest}\n`

  /** Projections in the order in which they are made. */
  function lazily(options: Partial<ReflectorOptions<string>> = {}) {
    const read: string[] = []
    const project = (object: KubeObject) => {
      read.push(`${object.metadata.name}=${object.metadata.resourceVersion}`)
      return read.at(-1)!
    }
    reflector = new Reflector<string>({
      ...{ client, apiVersion: 'v1', kind: 'Pod', clock: systemClock, log: silentLog, times, project, lazy: true },
      ...options,
    })
    const untilTold = (count: number) => new Promise<void>(resolve => reflector.on(() => --count === 0 && resolve()))
    return { read, untilTold }
  }

  test('reads only the last state, once, when it is asked for', async () => {
    const states = [encoded('ADDED', 'a', 2), encoded('MODIFIED', 'a', 3), encoded('MODIFIED', 'a', 4)]
    server.script.push(list(1), says(...states, encoded('ADDED', 'b', 5)))
    const { read, untilTold } = lazily()
    const told = untilTold(4)
    reflector.start()
    await told
    expect(read).toEqual([])
    expect([reflector.get('ns/a'), reflector.get('ns/a'), reflector.get('ns/c')]).toEqual(['a=4', 'a=4', undefined])
    expect([...reflector.values()]).toEqual(['a=4', 'b=5'])
    expect(read).toEqual(['a=4', 'b=5'])
  })

  test('tells listeners which object changed without reading it', async () => {
    const known: string[] = []
    server.script.push(list(1), says(encoded('ADDED', 'a', 2), encoded('DELETED', 'a', 3)))
    const { read, untilTold } = lazily()
    reflector.on(({ type, namespace, name, uid }) => void known.push(`${type} ${namespace}/${name} ${uid}`))
    const told = untilTold(2)
    reflector.start()
    await told
    expect(known).toEqual(['put ns/a uid-a', 'gone ns/a uid-a'])
    expect(read).toEqual([])
    expect(reflector.size).toBe(0)
  })

  test('reads objects of a list at once', async () => {
    server.script.push(list(1, pod('a', 1)), says())
    const { read, untilTold } = lazily()
    const told = untilTold(1)
    reflector.start()
    await told
    expect(read).toEqual(['a=1'])
  })

  test('lists anew when an object cannot be read', async () => {
    server.script.push(list(1), says(encoded('ADDED', 'a', 2, ',"spec":')), list(3, pod('a', 2)), says())
    const { read, untilTold } = lazily()
    const failures: unknown[] = []
    reflector.on(change => {
      try {
        failures.push(change.value)
      } catch (error) {
        failures.push(error)
      }
    })
    const told = untilTold(2)
    reflector.start()
    await told
    expect(failures).toEqual([new Error('the object cannot be read'), 'a=2'])
    expect(read).toEqual(['a=2'])
    expect(reflector.stats().errors).toBe(1)
  })

  test('lists once more when an object cannot be read while a list goes on', async () => {
    const second = Promise.withResolvers<() => void>()
    const page = json({ metadata: { resourceVersion: '5', continue: 'next' }, items: [pod('a', 2)] })
    const held: Answer = (request, response) => second.resolve(() => list(5, pod('b', 4))(request, response))
    server.script.push(list(1), says(encoded('ADDED', 'a', 2, ',"spec":'), line('ERROR', expired)))
    server.script.push(page, held, list(6, pod('a', 2), pod('b', 4)), says())
    const { read, untilTold } = lazily()
    const told = untilTold(3)
    reflector.start()
    const answer = await second.promise
    expect(reflector.get('ns/a')).toBeUndefined()
    answer()
    await told
    expect(read).toEqual(['b=4', 'a=2'])
    expect(reflector.get('ns/a')).toBe('a=2')
  })

  test('reports the state before the last one when the last state of a deleted object cannot be read', async () => {
    const cut = encoded('DELETED', 'a', 3, ',"spec":')
    server.script.push(list(1), says(encoded('ADDED', 'a', 2), cut), list(3), says())
    lazily()
    const gone = new Promise(resolve => {
      reflector.on(change => {
        if (change.type === 'gone') resolve(change.value)
      })
    })
    reflector.start()
    expect(await gone).toBe('a=2')
    expect(reflector.stats().errors).toBe(1)
  })

  test('reads nothing of namespaces that it does not want', async () => {
    const foreign = encoded('ADDED', 'a', 2).replace('"ns"', '"other"')
    server.script.push(list(1), says(foreign, foreign.replace('ADDED', 'DELETED'), encoded('ADDED', 'b', 3)))
    const { read, untilTold } = lazily({ lazy: false, wants: namespace => namespace === 'ns' })
    const told = untilTold(1)
    reflector.start()
    await told
    expect(read).toEqual(['b=3'])
    expect(reflector.size).toBe(1)
  })
})

describe('Reflector tolerates', () => {
  test('characters that the network splits between chunks', async () => {
    const whole = Buffer.from(line('ADDED', pod('Ünïcødé-🦊', 2)))
    const pieces = Array.from(whole, byte => Uint8Array.of(byte))
    const slowly = stream(response => {
      const next = (): unknown => {
        const piece = pieces.shift()
        return piece ? response.write(piece, () => setImmediate(next)) : undefined
      }
      next()
    })
    server.script.push(list(1), slowly)
    reflect()
    expect(await untilTold(1)).toEqual(['put Ünïcødé-🦊=2'])
  })

  test('events of unknown types and events without objects, which it counts', async () => {
    const odd = [line('DANCED', pod('a', 2)), line('ADDED', null), line('MODIFIED', {}), line('BOOKMARK', undefined)]
    server.script.push(list(1), says(...odd, line('ADDED', pod('b', 3))))
    reflect()
    expect(await untilTold(1)).toEqual(['put b=3'])
    expect(reflector.stats()).toEqual({ lists: 1, watches: 1, ignored: 4, errors: 0 })
  })

  test('a listener that throws, which it logs', async () => {
    const log = keepingLog()
    server.script.push(list(1, pod('a', 1)), says(line('ADDED', pod('b', 2))))
    const throwing = () => {
      throw new Error('mine')
    }
    reflect({ log }, throwing)
    await untilTold(2)
    expect(log.messages.filter(message => message === 'error: listener of a watch failed')).toHaveLength(2)
    expect(reflector.stats().errors).toBe(2)
  })

  test('an object that cannot be projected, which it logs', async () => {
    const log = keepingLog()
    server.script.push(
      list(1, pod('bad', 1)),
      saysAndEnds(line('MODIFIED', pod('bad', 2))),
      says(line('ADDED', pod('b', 3))),
    )
    const project = (object: KubeObject) => {
      if (object.metadata.name === 'bad') throw new Error('no')
      return object.metadata.name
    }
    reflect({ log, project })
    expect(await untilTold(1)).toEqual(['put b'])
    expect(startOf(server.received[2])).toBe('2')
    expect(log.messages).toContain('error: object could not be projected')
  })
})

describe('Reflector.stop', () => {
  test('ends the stream and returns', async () => {
    const closed = Promise.withResolvers<void>()
    const open = stream((response: ServerResponse) => {
      response.on('close', closed.resolve)
      response.write(line('ADDED', pod('a', 2)))
    })
    server.script.push(list(1), open)
    reflect()
    await untilTold(1)
    await reflector.stop()
    await closed.promise
    expect(reflector.get('ns/a')).toBe('a=2')
    expect(server.received).toHaveLength(2)
  })

  test('ends a list that hangs', async () => {
    reflect()
    await server.until(1)
    await reflector.stop()
    expect(reflector.synced()).toBe(false)
  })
})
