/** Time-outs and waits of a reflector; its other tests are in `reflector.test.ts`. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { hang, ScriptedServer, status, stream } from '../../test/kit/kube/server.ts'
import { keepingLog, silentLog } from '../../test/kit/log.ts'
import { KubeClient } from './client.ts'
import { Reflector } from './reflector.ts'
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

let server: ScriptedServer
let clock: ManualClock
let client: KubeClient
let reflector: Reflector<string>

beforeEach(async () => {
  server = await new ScriptedServer().listen()
  server.fallback = hang
  clock = new ManualClock()
  const kubernetes = { kubeconfig: server.kubeconfig(), requestTimeoutSeconds: 7, maxInFlight: 4 }
  client = new KubeClient({ kubernetes, version: '0', replica: 'r', clock, log: silentLog })
  const project = (object: { metadata: { name: string } }) => object.metadata.name
  reflector = new Reflector({ client, apiVersion: 'v1', kind: 'Pod', project, clock, log: silentLog })
})

afterEach(async () => {
  await reflector.stop()
  await client.close()
  await server.close()
})

/** Resolves when the reflector contains an object of this name. */
function shown(name: string): Promise<void> {
  return new Promise(resolve => {
    const end = reflector.on(change => {
      if (change.value !== name) return
      end()
      resolve()
    })
  })
}

test('Reflector abandons a watch when its socket is silent', async () => {
  server.script.push(list(7), says(line('ADDED', pod('a', 8))), says(line('ADDED', pod('b', 9))))
  const [first, second] = [shown('a'), shown('b')]
  reflector.start()
  await first
  clock.advance(await clock.sleepBetween(90_000, 90_000))
  clock.advance(await clock.sleepBetween(125, 250))
  await second
  expect(startOf(server.received[2])).toBe('8')
})

test('Reflector keeps a watch that only has bookmarks, and counts them as signs of life', async () => {
  let say: (chunk: string) => void = () => {}
  const open = Promise.withResolvers<void>()
  const talking = stream(response => {
    say = chunk => response.write(chunk)
    open.resolve()
  })
  server.script.push(list(7), talking)
  reflector.start()
  await open.promise
  await clock.sleepBetween(90_000, 90_000)
  clock.advance(60_000)
  expect(reflector.lastWordAgeMs()).toBe(60_000)
  say(bookmark(8))
  while (reflector.lastWordAgeMs() > 0) await new Promise<void>(resolve => setImmediate(resolve))
  clock.advance(30_000)
  await clock.sleepBetween(60_000, 60_000)
  const next = shown('a')
  say(line('ADDED', pod('a', 9)))
  await next
  expect(watchesOf(server.received)).toHaveLength(1)
})

test('Reflector abandons a watch that the server neither opens nor refuses within the request time-out', async () => {
  server.script.push(list(7), hang, says(line('ADDED', pod('b', 9))))
  const second = shown('b')
  reflector.start()
  await server.until(2)
  clock.advance(await clock.sleepBetween(7_000, 7_000))
  clock.advance(await clock.sleepBetween(125, 250))
  await second
})

test('Reflector ends a watch that outlives its time-out', async () => {
  let say: (chunk: string) => void = () => {}
  server.script.push(
    list(7),
    stream(response => {
      say = chunk => response.write(chunk)
      response.write(line('ADDED', pod('a', 8)))
    }),
    says(line('ADDED', pod('b', 9))),
  )
  const [first, second] = [shown('a'), shown('b')]
  reflector.start()
  await first
  for (let version = 10; version < 14; version += 1) {
    clock.advance(80_000)
    if (version === 13) break
    say(bookmark(version))
    while (reflector.lastWordAgeMs() > 0) await new Promise<void>(resolve => setImmediate(resolve))
  }
  clock.advance(await clock.sleepBetween(125, 250))
  await second
  expect(startOf(server.received[2])).toBe('12')
})

test('Reflector waits longer with each failure, and as long as the server asks', async () => {
  const asked = status(429, 'TooManyRequests', 'slow', { 'Retry-After': '20' })
  server.script.push(list(7), ...Array.from({ length: 7 }, () => status(503, 'ServiceUnavailable')), asked, says())
  reflector.start()
  for (const fullMs of [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]) {
    clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
  }
  clock.advance(await clock.sleepBetween(22_500, 25_000))
  await server.until(10)
})

test('Reflector resets the wait after a success', async () => {
  const bad = status(503, 'ServiceUnavailable')
  server.script.push(list(7), bad, bad, saysAndEnds(line('ADDED', pod('a', 8))), says())
  reflector.start()
  for (const fullMs of [250, 500, 250]) clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
  await server.until(5)
})

test('Reflector resets the wait after a watch that lived long, even without events', async () => {
  const bad = status(503, 'ServiceUnavailable')
  let end: () => void = () => {}
  const open = Promise.withResolvers<void>()
  const idle = stream(response => {
    end = () => response.end()
    open.resolve()
  })
  server.script.push(list(7), bad, bad, idle, says())
  reflector.start()
  for (const fullMs of [250, 500]) clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
  await open.promise
  await clock.sleepBetween(90_000, 90_000)
  clock.advance(10_000)
  end()
  clock.advance(await clock.sleepBetween(125, 250))
  await server.until(5)
})

test('Reflector keeps a gap between lists, however often the server answers 410', async () => {
  const tooOld = says(line('ADDED', pod('a', 6)), line('ERROR', expired))
  server.script.push(list(5), tooOld, list(5), tooOld)
  reflector.start()
  clock.advance(await clock.sleepBetween(125, 250))
  const restMs = await clock.sleepBetween(1_750, 1_875)
  expect(listsOf(server.received)).toHaveLength(1)
  clock.advance(restMs)
  await server.until(4)
})

test('Reflector lists everything again after the resync time', async () => {
  server.script.push(list(5), says(line('ADDED', pod('a', 6))), list(9), says())
  const first = shown('a')
  reflector.start()
  await first
  const lost = shown('a')
  clock.advance(2_000_000)
  clock.advance(await clock.sleepBetween(125, 250))
  await lost
  expect(reflector.size).toBe(0)
  await server.until(4)
})

test('Reflector takes no short watch for a failure when the server ends it after its time', async () => {
  const log = keepingLog()
  const brief = new Reflector({
    ...{ client, apiVersion: 'v1', kind: 'Pod', project: () => 'x', clock, log },
    times: { watchTimeoutMs: 6000 },
  })
  const opened: ((end: () => void) => void)[] = []
  const watch = stream(response => opened.shift()?.(() => response.end()))
  const open = () => new Promise<() => void>(resolve => opened.push(resolve))
  const rounds = 4
  server.script.push(list(7), ...Array.from({ length: rounds }, () => watch))
  let next = open()
  brief.start()
  for (let round = 1; round <= rounds; round++) {
    const end = await next
    // Its client has read the head of the answer.
    await clock.sleepBetween(90_000, 90_000)
    clock.advance(6000)
    next = open()
    end()
    // Without growth: each pause is that of the first failure.
    clock.advance(await clock.sleepBetween(125, 250))
  }
  expect(log.messages.filter(line => line.startsWith('warn'))).toEqual([])
  await brief.stop()
})
