/** For tests: the API of tenants without a port, with a scripted service. Every answer must be documented. */
import { Registry } from 'prom-client'
import { apiDocument } from '../../../src/api/document/document.ts'
import { createTenantsApi } from '../../../src/api/tenants/app.ts'
import { type TenantsApiParts, tenantsPrefix } from '../../../src/api/tenants/parts.ts'
import { documentWords } from '../../../src/api/tenants/words.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { createStaticIdentity } from '../../../src/identity/static.ts'
import type { Tenants } from '../../../src/sudo/service.ts'
import type { AuditEvent } from '../../../src/telemetry/audit.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { noTracing } from '../../../src/telemetry/tracing.ts'
import { ManualClock } from '../clock.ts'
import { Conformance } from './conformance.ts'
import { checkedCalls } from './scripted-api.ts'

/** A site without LNamespaces. */
const nothing: Tenants = {
  list: () => [],
  find: () => undefined,
  grant: async () => {
    throw new Error('not scripted')
  },
  end: async () => false,
  events: async () => null,
}

/** `ann` is a user, `guest` has no scope; tokens are `ann-token` and so on. */
const callers = [
  { username: 'ann', scopes: ['exec:notebook'] },
  { username: 'guest', scopes: [] },
]

export function tenantsParts(script: Partial<Tenants> = {}, config: object = {}, lines: AuditEvent[] = []) {
  const log = silentLogger()
  return {
    config: configSchema.parse(config),
    identity: createStaticIdentity(
      callers.map(each => ({ ...each, token: `${each.username}-token`, groups: [] })),
      log,
    ),
    metrics: createMetrics(new Registry()),
    tracing: noTracing,
    clock: new ManualClock(),
    log,
    tenants: { ...nothing, ...script },
    auditor: { request: event => void lines.push(event) },
  } satisfies TenantsApiParts
}

export const tenantsDocument = (config: object = {}) =>
  apiDocument(createTenantsApi(tenantsParts({}, config)), documentWords)

/** Calls by method, path under the prefix, and caller. */
export function tenantsApi(script: Partial<Tenants> = {}, config: object = {}, lines: AuditEvent[] = []) {
  const app = createTenantsApi(tenantsParts(script, config, lines))
  return checkedCalls(app, new Conformance(tenantsDocument(config)), path => `${tenantsPrefix}${path}`)
}
