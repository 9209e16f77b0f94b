/** Unit tests call the API through this: a scripted engine, four callers, and a manual clock. */
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { createApi } from '../../../src/api/app.ts'
import { apiDocument } from '../../../src/api/document/document.ts'
import type { ApiParts } from '../../../src/api/request/env.ts'
import { headOf } from '../../../src/api/request/head.ts'
import type { Identity, LabEvent, LabState } from '../../../src/base/domain.ts'
import { unavailable } from '../../../src/base/errors.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { createStaticIdentity } from '../../../src/identity/static.ts'
import type { ImageService } from '../../../src/images/catalogue/types.ts'
import { noAudit } from '../../../src/ops/audit.ts'
import type { EventFeed, LabService } from '../../../src/ops/labs/service.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { noTracing } from '../../../src/telemetry/tracing.ts'
import { ManualClock } from '../clock.ts'
import { Conformance } from './conformance.ts'

/** A feed that the test fills and ends. */
export class ScriptedFeed implements EventFeed {
  readonly #batches: (readonly LabEvent[])[] = []
  #ended = false
  #wake: (() => void) | undefined
  /** Number of batches taken. */
  taken = 0
  signal: AbortSignal | undefined

  push(...batch: LabEvent[]): this {
    this.#batches.push(batch)
    this.#wake?.()
    return this
  }

  end(): this {
    this.#ended = true
    this.#wake?.()
    return this
  }

  async *read(signal: AbortSignal): AsyncIterable<readonly LabEvent[]> {
    this.signal = signal
    signal.addEventListener('abort', () => this.#wake?.(), { once: true })
    while (!signal.aborted) {
      const batch = this.#batches.shift()
      if (batch !== undefined) {
        this.taken++
        yield batch
      } else if (this.#ended) return
      else {
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
      }
    }
  }
}

/** A lab as in the specification's example, with ids of events. */
export function exampleLab(change: Partial<LabState> = {}): LabState {
  return {
    status: 'running',
    podPresent: true,
    view: {
      username: 'rra',
      options: {
        enable_debug: false,
        image_list: 'lsstsqre/sciplat-lab:w_2022_37',
        reset_user_env: false,
        size: 'large',
      },
      env: { JUPYTERHUB_API_URL: 'http://hub.nublado2:8081/nb/hub/api' },
      uid: 4266950,
      gid: 4266950,
      groups: [
        { name: 'lsst-data-management', id: 170034 },
        { name: 'rra', id: 4266950 },
      ],
      quotas: { limits: { cpu: 4, memory: 12884901888 }, requests: { cpu: 4, memory: 1073741824 } },
      internalUrl: 'http://nublado-rra/nb-rra:8888',
    },
    events: [
      { event: 'info', data: 'lab creation initiated for rra', id: '7-1' },
      { event: 'progress', data: '2', id: '7-2' },
      { event: 'complete', data: 'Operation complete for rra', id: '7-3' },
    ],
    ...change,
  }
}

/** An engine without labs; each test changes it. */
export function scriptedLabs(script: Partial<LabService> = {}): LabService {
  return {
    create: async () => undefined,
    announce: () => {},
    remembers: async () => false,
    delete: async () => false,
    status: async () => null,
    running: async () => [],
    events: async () => null,
    ...script,
  }
}

/** A repository that was not read yet; each test changes it. */
export function scriptedImages(script: Partial<ImageService> = {}): ImageService {
  const unread = async () => {
    throw unavailable('the registry was not read yet', 5)
  }
  return { catalogue: unread, prepulls: unread, resolve: unread, ...script }
}

const caller = (username: string, ...scopes: string[]): Identity => ({
  username,
  token: `${username}-token`,
  scopes,
  groups: [],
})

/** `rra` is a user, `hub` an administrator, `guest` has no rights. Their tokens are `rra-token` and so on. */
export const callers = [
  caller('rra', 'exec:notebook'),
  caller('hub', 'admin:jupyterlab'),
  caller('guest'),
  caller('both', 'exec:notebook', 'admin:jupyterlab'),
]

/** The parts of an API, with some replaced. `api` and `config` change the configuration. */
export function apiParts(change: Partial<ApiParts> = {}, api: object = {}, config: object = {}): ApiParts {
  const log = silentLogger()
  return {
    config: configSchema.parse({ api, ...config }),
    labs: scriptedLabs(),
    images: scriptedImages(),
    identity: createStaticIdentity(
      callers.map(({ groups, ...record }) => ({ ...record, groups: [...groups], scopes: [...record.scopes] })),
      log,
    ),
    metrics: createMetrics(new Registry()),
    tracing: noTracing,
    audit: noAudit,
    clock: new ManualClock(),
    log,
    ...change,
  }
}

/** The default prefix of the routes of SQR-066. */
export const prefix = '/nublado/spawner/v1'

/** Checks of answers, by prefix. */
const conformances = new Map<string, Conformance>()

/** Checks answers by the document of an API with this configuration. */
export function conformanceOf(config: object = {}): Conformance {
  const parts = apiParts({}, config)
  const { prefix } = parts.config.api
  const known = conformances.get(prefix) ?? new Conformance(apiDocument(createApi(parts)))
  conformances.set(prefix, known)
  return known
}

/**
 * Calls of an API without a port: method, path (under the prefix unless it begins with /), and caller. Every answer
 * must be documented in OpenAPI.
 */
export function api(script: Partial<LabService> = {}, change: Partial<ApiParts> = {}, config: object = {}) {
  const app = createApi(apiParts({ labs: scriptedLabs(script), ...change }, config))
  return checkedCalls(app, conformanceOf(config), path => (path.startsWith('/') ? path : `${prefix}/${path}`))
}

/**
 * Calls by method, path and caller, whose answers are held against a document.
 * @param full the whole path
 */
export function checkedCalls(
  app: ReturnType<typeof createApi>,
  conformance: Conformance,
  full: (path: string) => string,
  tokenOf = (name: string): string => `${name}-token`,
) {
  return async (method: string, path: string, name?: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (name !== undefined) headers.set('Authorization', `Bearer ${tokenOf(name)}`)
    const response = await requestTo(app, full(path), { ...init, method, headers })
    conformance.check({ method, path: headOf(full(path)).path, ...(await read(response)) })
    return response
  }
}

/** Calls an app without a port, with the head that a server would have read. */
export async function requestTo(
  app: ReturnType<typeof createApi>,
  path: string,
  init?: RequestInit,
): Promise<Response> {
  const head = headOf(path)
  return app.request(head.path, init, { head })
}

/** Streams are left to their reader: they may go on. */
async function read(response: Response) {
  const { status, headers } = response
  const isStream = headers.get('X-Accel-Buffering') === 'no'
  return { status, headers, text: isStream ? undefined : await response.clone().text() }
}

/** Checks that an answer has the common form of errors; returns its first entry. */
export async function detailOf(response: Response) {
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  const body = (await response.json()) as { detail: { msg: string; type: string; loc?: unknown[] }[] }
  expect(Object.keys(body)).toEqual(['detail'])
  expect(body.detail.length).toBeGreaterThan(0)
  for (const entry of body.detail) expect(entry).toMatchObject({ msg: expect.any(String), type: expect.any(String) })
  return body.detail[0]!
}

export const jsonBody = (body: unknown): RequestInit => ({
  body: typeof body === 'string' ? body : JSON.stringify(body),
  headers: { 'Content-Type': 'application/json' },
})
