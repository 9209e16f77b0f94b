import { afterEach, beforeEach, expect, test } from 'vitest'
import { image, nodeObject } from '../../../test/kit/images/cluster.ts'
import { json, type Received, ScriptedServer } from '../../../test/kit/kube/server.ts'
import { silentLog } from '../../../test/kit/log.ts'
import { systemClock } from '../../base/clock.ts'
import type { KubeObject } from '../../base/domain.ts'
import { configSchema } from '../../config/schema.ts'
import { KubeClient } from '../../kube/client.ts'
import { renderPullSet } from './pull-set.ts'
import { PrepullWatches } from './watches.ts'

type Kind = 'nodes' | 'daemonsets' | 'pods'
const kinds = ['nodes', 'daemonsets', 'pods'] as const

let server: ScriptedServer
let client: KubeClient
let watches: PrepullWatches
let version = 0
const open = new Map<Kind, (type: string, object: object) => void>()
const opened = new Map<Kind, PromiseWithResolvers<void>>()
const kindOf = ({ path }: Received) => path.split('/').at(-1) as Kind

beforeEach(async () => {
  for (const kind of kinds) opened.set(kind, Promise.withResolvers())
  server = await new ScriptedServer().listen()
  server.fallback = (request, response) => {
    if (!request.query.has('watch')) return json({ metadata: { resourceVersion: '1' }, items: [] })(request, response)
    response.writeHead(200).flushHeaders()
    open.set(kindOf(request), (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`))
    opened.get(kindOf(request))!.resolve()
  }
  const kubernetes = { kubeconfig: server.kubeconfig(), requestTimeoutSeconds: 10, maxInFlight: 4 }
  const common = { clock: systemClock, log: silentLog }
  client = new KubeClient({ ...common, kubernetes, version: '0', replica: 'r' })
  watches = new PrepullWatches({ ...common, client, installation: 'north', namespace: 'sky' })
  expect(watches.ready()).toBe(false)
  watches.start()
  await watches.whenReady(AbortSignal.timeout(5000))
  await Promise.all([...opened.values()].map(({ promise }) => promise))
})

afterEach(async () => {
  await watches.stop()
  await client.close()
  await server.close()
})

function send(kind: Kind, object: KubeObject, type = 'MODIFIED'): void {
  version += 1
  const metadata = { uid: 'u', ...object.metadata, resourceVersion: String(version) }
  open.get(kind)!(type, { ...object, metadata })
}

/** Resolves at the next notification of a change. */
function news(): Promise<void> {
  return new Promise(resolve => {
    const off = watches.onChange(() => {
      off()
      resolve()
    })
  })
}

const set = renderPullSet({
  ...{ config: configSchema.parse({ installation: 'north' }), namespace: 'sky' },
  ...{ image: image('a'), nodes: ['one'], begunMs: 1 },
})
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    ...{ name: 'p', namespace: 'sky' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'set', uid: 'u' }],
  },
  spec: { nodeName: 'one' },
}

test('PrepullWatches shows all nodes, and our objects in our namespace', () => {
  expect(watches.ready()).toBe(true)
  const asked = server.received
    .filter(({ query }) => query.has('watch'))
    .map(({ path, query }) => [path, query.get('labelSelector')])
    .sort()
  expect(asked).toEqual([
    ['/api/v1/namespaces/sky/pods', 'skylab/prepull=north'],
    ['/api/v1/nodes', null],
    ['/apis/apps/v1/namespaces/sky/daemonsets', 'skylab/prepull=north'],
  ])
  expect(Object.keys(watches.lastWordAgeMs())).toEqual(['nodes', 'daemonSets', 'prepullPods'])
})

test('PrepullWatches notifies of relevant changes', async () => {
  for (const [kind, object] of [
    ['nodes', nodeObject('one')],
    ['nodes', nodeObject('one', { cordoned: true })],
    ['daemonsets', set],
    ['pods', pod],
  ] as const) {
    const told = news()
    send(kind, object)
    await told
  }
  expect(watches.nodes().map(({ name, unschedulable }) => [name, unschedulable])).toEqual([['one', true]])
  expect(watches.sets().map(({ nodes }) => nodes)).toEqual([['one']])
  expect(watches.pods().map(({ node, state }) => [node, state])).toEqual([['one', 'pulling']])
  const told = news()
  send('pods', pod, 'DELETED')
  await told
  expect(watches.pods()).toEqual([])
})

test('PrepullWatches does not notify of irrelevant changes', async () => {
  for (const [kind, object, seen] of [
    ['nodes', nodeObject('one'), () => watches.nodes()],
    ['daemonsets', set, () => watches.sets()],
  ] as const) {
    const first = news()
    send(kind, object)
    await first
    let count = 0
    const gone = new Promise<void>(resolve => {
      watches.onChange(() => {
        count += 1
        if (seen().length === 0) resolve()
      })
    })
    send(kind, { ...object, status: { ...(object.status as object), heartbeat: version } })
    send(kind, object, 'DELETED')
    await gone
    expect(count).toBe(1)
  }
})
