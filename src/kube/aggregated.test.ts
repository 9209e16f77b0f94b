/** Answers of servers behind the API server: they are bounded, and say nothing of the API server. */
import { expect, onTestFinished, test } from 'vitest'
import { hastyClock } from '../../test/kit/clock.ts'
import { type Answer, json, ScriptedServer } from '../../test/kit/kube/server.ts'
import { keepingLog } from '../../test/kit/log.ts'
import { RetryLater } from '../base/errors.ts'
import { KubeClient } from './client.ts'
import { KubeError } from './errors.ts'

const path = '/apis/metrics.k8s.io/v1beta1/pods'

async function connect() {
  const server = await new ScriptedServer().listen()
  const log = keepingLog()
  const client = new KubeClient({
    ...{ kubernetes: { kubeconfig: server.kubeconfig(), requestTimeoutSeconds: 10, maxInFlight: 8 } },
    ...{ version: '1', replica: 'r', clock: hastyClock(), log },
  })
  onTestFinished(async () => {
    await client.close()
    await server.close()
  })
  return { server, client, log }
}

test('KubeClient says nothing of the API server when another one behind it is absent', async () => {
  const { server, client, log } = await connect()
  const absent: Answer = (_request, response) => {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found')
  }
  server.script.push(absent, absent)
  await expect(client.request('GET', path, undefined, { aggregated: { maxBytes: 100 } })).rejects.toThrow(KubeError)
  expect(client.trouble()).toBeUndefined()
  expect(log.messages.filter(line => line.startsWith('warn'))).toEqual([])
  await expect(client.request('GET', path)).rejects.toThrow(KubeError)
  expect(client.trouble()).toMatchObject({ words: 'another server answers at its address' })
})

test('KubeClient ends an answer that is longer than its bound', async () => {
  const { server, client } = await connect()
  server.fallback = json({ items: 'x'.repeat(200) })
  await expect(client.request('GET', path, undefined, { aggregated: { maxBytes: 200 } })).rejects.toThrow(RetryLater)
  expect(await client.request('GET', path, undefined, { aggregated: { maxBytes: 300 } })).toHaveProperty('items')
})
