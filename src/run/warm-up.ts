/**
 * Accepts made-up creations, and sends their events, before a replica is ready. V8 compiles what runs often; without this,
 * the first crowd after a start waits for that. No part here has a connection, a metric or a log of the replica, so nothing
 * of it can be seen.
 */
import type { Server } from 'node:http'
import { duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { createApi } from '../api/app.ts'
import { boundServer } from '../api/connections/http-server.ts'
import type { ApiParts } from '../api/request/env.ts'
import type { Identity, LabEvent, ResolvedImage } from '../base/domain.ts'
import type { Config } from '../config/schema.ts'
import { bearerToken, unauthorized } from '../identity/provider.ts'
import { noSources } from '../labs/sources.ts'
import { noAudit } from '../ops/audit.ts'
import { Labs, type LabsOptions } from '../ops/labs/labs.ts'
import type { EventFeed } from '../ops/labs/service.ts'
import type { LabStore } from '../store/labs.ts'
import { encodeEvents } from '../store/records.ts'
import type { Sealer } from '../store/sealing.ts'
import { createLogger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { noTracing } from '../telemetry/tracing.ts'
import type { Basics } from './basics.ts'

type WarmUpBasics = Pick<Basics, 'config' | 'clock'>

const image: ResolvedImage = { reference: 'lab@sha256:0', tag: 'recommended', digest: 'sha256:0', description: 'Lab' }
const events: readonly LabEvent[] = [
  { id: '1-1', event: 'progress', data: '1' },
  { id: '1-2', event: 'complete', data: 'Lab running' },
]

/** Nobody waits for anybody here. */
const acceptance: LabsOptions['acceptance'] = {
  announce: () => {},
  during: accept => accept(),
  pause: async () => {},
}

/** Resolves when each of `api.warmUpRequests` creates, and a reader of its events, has an answer, whatever that is. */
export async function warmUp({ config, clock }: WarmUpBasics, sealer: Sealer): Promise<void> {
  const { prefix, limits, warmUpRequests } = config.api
  const app = createApi(partsOf({ config: withoutCopies(config), clock }, sealer))
  const { server } = boundServer(limits, clock, (request, env) => app.fetch(request, env))
  for (let number = 1; number <= warmUpRequests; number++) {
    const user = `user-${number}`
    const lab = `${prefix}/labs/${user}`
    await ask(server, `POST ${lab}/create`, user, JSON.stringify({ options: {}, env: {} }))
    await ask(server, `GET ${lab}/events`, user)
    // The other work of a starting replica runs in between.
    await setImmediate()
  }
}

/** Copies would need the cluster. */
function withoutCopies(config: Config): Config {
  const { lab } = config
  return { ...config, lab: { ...lab, secrets: [], volumes: lab.volumes.filter(({ configMap }) => !configMap) } }
}

function partsOf({ config, clock }: WarmUpBasics, sealer: Sealer): ApiParts {
  const metrics = createMetrics(new Registry())
  const log = createLogger({ level: config.logLevel, replica: '', destination: { write: () => {} } })
  const common = { config, clock, metrics, log, tracing: noTracing, audit: noAudit }
  const labs = new Labs({
    ...common,
    ...labParts(sealer),
    sealer,
    images: { resolve: async () => image },
    sources: { read: async () => noSources },
    policy: { require: () => {} },
    acceptance,
    onAccepted: () => {},
  })
  const unasked = () => Promise.reject(new Error('not a part of the warm-up'))
  const images = { catalogue: unasked, prepulls: unasked, resolve: unasked }
  return { ...common, labs, images, identity: { identify: async headers => callerOf(headers) } }
}

/** What the two routes use of the store and its streams. */
function labParts(sealer: Sealer): Pick<LabsOptions, 'store' | 'feeds'> {
  const [keyId = ''] = sealer.ids.split(' ')
  const acceptCreate: LabStore['acceptCreate'] = async creation => {
    creation.sealPlan(keyId, creation.name)
    JSON.stringify(creation.view)
    encodeEvents(creation.events)
    return { answer: 'accepted', op: 1 }
  }
  const feed: EventFeed = {
    async *read() {
      yield events
    },
  }
  return {
    store: { acceptCreate } as Partial<LabStore> as LabStore,
    feeds: { open: async () => feed } as Partial<LabsOptions['feeds']> as LabsOptions['feeds'],
  }
}

function callerOf(headers: Headers): Identity {
  const username = bearerToken(headers)
  if (username === undefined) throw unauthorized()
  const groups = [{ name: username, id: 1000 }]
  return { username, token: username, scopes: ['exec:notebook'], uid: 1000, gid: 1000, groups }
}

/** One request, on a connection of its own, which has no port. */
async function ask(server: Server, line: string, user: string, body = ''): Promise<void> {
  const [ours, theirs] = duplexPair()
  server.emit('connection', theirs)
  const headers = ['Host: localhost', 'Connection: close', `Authorization: Bearer ${user}`]
  if (body) headers.push('Content-Type: application/json', `Content-Length: ${body.length}`)
  ours.write([`${line} HTTP/1.1`, ...headers, '', body].join('\r\n'))
  await text(ours)
}
