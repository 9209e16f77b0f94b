import { describe, expect, it } from 'vitest'
import { scriptedActivity } from '../../../test/kit/api/activity-api.ts'
import { Conformance } from '../../../test/kit/api/conformance.ts'
import { apiParts, jsonBody, requestTo } from '../../../test/kit/api/scripted-api.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import { apiDocument } from '../document/document.ts'
import { createActivityApi, documentWords } from './standalone.ts'

/** A process for notebooks alone, where one runs, whose user nobody knows. */
function notebooksApi(lines: AuditEvent[] = []) {
  const activity = scriptedActivity({
    kinds: ['notebook', 'statefulset'],
    find: async workload => ({ ...workload, state: 'active' }),
    ownerOf: () => undefined,
    keep: async () => ({ until: '2026-01-01T00:00:00.000Z' }),
  })
  const { identity, metrics, tracing, clock, log, config } = apiParts()
  const auditor = { request: (event: AuditEvent) => void lines.push(event) }
  const parts = { identity, metrics, tracing, clock, log, config, activity, auditor }
  const app = createActivityApi(parts)
  const conformance = new Conformance(apiDocument(createActivityApi(parts), documentWords))
  return async (method: string, path: string, who?: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (who !== undefined) headers.set('Authorization', `Bearer ${who}-token`)
    const full = `/activity${path}`
    const response = await requestTo(app, full, { ...init, method, headers })
    const { status } = response
    conformance.check({ method, path: full, status, headers: response.headers, text: await response.clone().text() })
    return response
  }
}

describe('createActivityApi', () => {
  it('shows a notebook to an administrator, and to nobody else', async () => {
    const ask = notebooksApi()
    const answer = await ask('GET', '/admin/v1/notebook/team/blue', 'hub')
    expect(await answer.json()).toEqual({ kind: 'notebook', id: 'team/blue', state: 'active' })
    expect((await ask('GET', '/v1/notebook/team/blue', 'rra')).status).toBe(404)
    expect((await ask('GET', '/admin/v1/notebook/team/blue', 'rra')).status).toBe(403)
    expect((await ask('GET', '/admin/v1/notebook/team/blue')).status).toBe(401)
  })

  it('has no route of labs, and a document without a token', async () => {
    const ask = notebooksApi()
    for (const path of ['/admin/v1/lab/rra', '/v1/lab/rra', '/lab/v1/rra', '/lab/v1/rra/events']) {
      expect((await ask('GET', path, 'hub')).status).toBe(404)
    }
    const { paths } = (await (await ask('GET', '/openapi.json')).json()) as { paths: Record<string, object> }
    expect(Object.keys(paths)).toContain('/activity/admin/v1/statefulset/{namespace}/{name}')
    expect(Object.keys(paths).filter(path => path.includes('lab'))).toEqual([])
  })

  it('writes a line of the audit log for a notebook that is kept', async () => {
    const lines: AuditEvent[] = []
    const ask = notebooksApi(lines)
    const body = jsonBody({ seconds: 60 })
    expect((await ask('POST', '/admin/v1/notebook/team/blue/keep-alive', 'hub', body)).status).toBe(200)
    expect(lines).toMatchObject([
      { action: 'activity.keep', result: 'accepted', object: { kind: 'notebook', name: 'team/blue' } },
    ])
  })
})
