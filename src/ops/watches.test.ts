import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { json, type Received, ScriptedServer } from '../../test/kit/kube/server.ts'
import { keepingLog } from '../../test/kit/log.ts'
import { systemClock } from '../base/clock.ts'
import { KubeClient } from '../kube/client.ts'
import { Watches } from './watches.ts'

type Kind = 'namespaces' | 'pods' | 'events'

let server: ScriptedServer
let client: KubeClient
let watches: Watches
let log: ReturnType<typeof keepingLog>
const open = new Map<Kind, (type: string, object: object) => void>()
const opened = new Map<Kind, PromiseWithResolvers<void>>()

const kindOf = (request: Received) => request.path.split('/').at(-1) as Kind

beforeEach(async () => {
  for (const kind of ['namespaces', 'pods', 'events'] as const) opened.set(kind, Promise.withResolvers())
  server = await new ScriptedServer().listen()
  server.fallback = (request, response) => {
    if (!request.query.has('watch')) return json({ metadata: { resourceVersion: '1' }, items: [] })(request, response)
    response.writeHead(200).flushHeaders()
    open.set(kindOf(request), (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`))
    opened.get(kindOf(request))!.resolve()
  }
  const kubernetes = { kubeconfig: server.kubeconfig(), requestTimeoutSeconds: 10, maxInFlight: 4 }
  log = keepingLog()
  client = new KubeClient({ kubernetes, version: '0', replica: 'r', clock: systemClock, log })
  watches = new Watches({ client, installation: 'one', namespacePrefix: 'nublado', clock: systemClock, log })
})

afterEach(async () => {
  await watches.stop()
  await client.close()
  await server.close()
})

async function started(): Promise<void> {
  watches.start()
  await watches.whenReady(AbortSignal.timeout(5_000))
  await Promise.all([...opened.values()].map(({ promise }) => promise))
}

/** Sends one event and resolves with the name that the listeners got. */
async function send(kind: Kind, type: string, object: object): Promise<string> {
  const told = Promise.withResolvers<string>()
  const tell = ({ value }: { value: { name?: string; namespace?: string } }) =>
    told.resolve(value.namespace ?? value.name!)
  const ends = [watches.namespaces.on(tell), watches.pods.on(tell), watches.podEvents.on(tell)]
  open.get(kind)!(type, object)
  const name = await told.promise
  for (const end of ends) end()
  return name
}

let version = 10
const object = (name: string, namespace?: string, more: object = {}) => {
  version += 1
  return { metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: String(version) }, ...more }
}
const event = (name: string, namespace: string) =>
  object(name, namespace, {
    involvedObject: { kind: 'Pod', name: 'nb-ada', uid: 'p', namespace },
    reason: 'Pulling',
    message: name,
    type: 'Normal',
  })

describe('Watches', () => {
  test('opens three streams, restricted to our objects', async () => {
    expect(watches.ready()).toBe(false)
    await started()
    expect(watches.ready()).toBe(true)
    const asked = server.received
      .filter(request => request.query.has('watch'))
      .map(({ path, query }) => [path, query.get('labelSelector'), query.get('fieldSelector')])
      .sort()
    expect(asked).toEqual([
      ['/api/v1/events', null, 'involvedObject.kind=Pod'],
      ['/api/v1/namespaces', 'skylab/installation=one', null],
      ['/api/v1/pods', 'skylab/installation=one', null],
    ])
    expect(Object.keys(watches.lastWordAgeMs())).toEqual(['namespaces', 'pods', 'podEvents'])
    expect(watches.stats().pods).toEqual({ lists: 1, watches: 1, ignored: 0, errors: 0 })
  })

  test('notifies of changes to a namespace, its pods and its pods’ events', async () => {
    await started()
    expect(await send('namespaces', 'ADDED', object('nublado-ada'))).toBe('nublado-ada')
    expect(await send('pods', 'ADDED', object('nb-ada', 'nublado-ada'))).toBe('nublado-ada')
    expect(await send('events', 'ADDED', event('e1', 'nublado-ada'))).toBe('nublado-ada')
    expect(await send('namespaces', 'DELETED', object('nublado-ada'))).toBe('nublado-ada')
    expect(watches.namespaces.get('nublado-ada')).toBeUndefined()
    expect(watches.pods.get('nublado-ada/nb-ada')?.uid).toBe('uid-nb-ada')
    expect([...watches.podEvents.byNamespace('nublado-ada')].map(facts => facts.reason)).toEqual(['Pulling'])
  })

  test('keeps fifty events of each of our namespaces until the namespace is gone', async () => {
    await started()
    open.get('events')!('ADDED', event('elsewhere', 'kube-system'))
    open.get('events')!('ADDED', event('similar', 'nubladoish'))
    const names = Array.from({ length: 60 }, (_, index) => `e${index}`)
    for (const name of names) await send('events', 'ADDED', event(name, 'nublado-ada'))
    const kept = [...watches.podEvents.byNamespace('nublado-ada')]
    expect(kept.map(facts => facts.message)).toEqual(names.slice(10))
    expect(watches.podEvents.size).toBe(50)
    for (const name of names) await send('events', 'DELETED', event(name, 'nublado-ada'))
    expect(watches.podEvents.size).toBe(0)
  })
})
