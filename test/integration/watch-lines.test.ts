/**
 * Replicas read the head of a watch's line by a pattern, and the rest only when it is used. A server that writes other
 * heads costs time, but does no harm: this test would notice it.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { KubeClient, type ListScope } from '../../src/kube/client.ts'
import { creationPath } from '../../src/kube/kinds.ts'
import { readEvent } from '../../src/kube/seen.ts'
import { AdminKube } from '../kit/cluster/kube.ts'
import { silentLog } from '../kit/log.ts'
import { testBed } from '../kit/testbed.ts'

const name = `watch-lines-${randomBytes(4).toString('hex')}`
const { kubeconfig } = testBed()
const admin = new AdminKube(kubeconfig)
const kubernetes = { kubeconfig, requestTimeoutSeconds: 10, maxInFlight: 4 }
const client = new KubeClient({ kubernetes, version: 'test', replica: 'test', clock: systemClock, log: silentLog })
const stop = new AbortController()

beforeAll(async () => {
  await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, annotations: { who: '"}},é' } } })
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } }
  expect([201, 409]).toContain(
    (await admin.request('POST', creationPath('v1', 'ServiceAccount', name), account)).status,
  )
})

afterAll(async () => {
  stop.abort(new Error('the test is over'))
  await client.close()
  await admin.delete('Namespace', name)
  admin.close()
})

/** The events of a watch until one of this type, as their lines. */
async function linesUntil(last: string, kind: string, scope: ListScope): Promise<Buffer[]> {
  const options = { ...scope, resourceVersion: '0', timeoutSeconds: 60, signal: stop.signal }
  const watch = await client.watch('v1', kind, options)
  const lines: Buffer[] = []
  return new Promise((resolve, reject) => {
    const take = (line: Buffer) => {
      const { type } = JSON.parse(line.toString())
      // Bookmarks are few, and are parsed.
      if (type !== 'BOOKMARK') lines.push(Buffer.from(line))
      if (type === last) resolve(lines)
    }
    watch.read(take).then(() => reject(new Error(`a watch of ${kind} ended after ${lines.length} events`)), reject)
  })
}

test('an API server writes watch events with the head that readEvent expects', async () => {
  const read = [
    linesUntil('ADDED', 'Namespace', { fieldSelector: `metadata.name=${name}` }),
    linesUntil('DELETED', 'Pod', { namespace: name }),
    linesUntil('ADDED', 'Event', { namespace: name, fieldSelector: 'involvedObject.kind=Pod' }),
  ]
  await admin.create({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod', namespace: name } },
    spec: { containers: [{ name: 'lab', image: 'x' }], nodeSelector: { nowhere: name } },
  })
  await read[2]
  await admin.delete('Pod', 'pod', name, 0)
  const lines = (await Promise.all(read)).flat()
  expect(lines.length).toBeGreaterThanOrEqual(4)
  for (const line of lines) {
    const { type, seen, whole } = readEvent(line)
    const { object, ...event } = JSON.parse(line.toString())
    expect(whole).toBeUndefined()
    expect({ type }).toEqual(event)
    const { name, namespace, uid, resourceVersion } = object.metadata
    expect(seen).toMatchObject({ name, namespace, uid, resourceVersion })
    expect(seen!.keep()()).toEqual(object)
  }
})
