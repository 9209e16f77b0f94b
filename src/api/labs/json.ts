/** The status of a lab as JSON (SQR-066, "GET …/labs/<username>", with the changes of docs/api.md). Pure. */
import type { z } from '@hono/zod-openapi'
import type { LabState } from '../../base/domain.ts'
import type { labStatus } from './schemas.ts'

export type LabStatusJson = z.output<typeof labStatus>

/**
 * The view of a lab for clients. `internal_url` is absent, never null, unless the lab is running and has a pod. Secret
 * values of env were masked when the view was made.
 */
export function labStatusJson({ status, podPresent, view, events }: LabState): LabStatusJson {
  return {
    username: view.username,
    status,
    pod: podPresent ? 'present' : 'missing',
    ...(status === 'running' && podPresent && { internal_url: view.internalUrl }),
    options: { ...view.options },
    env: { ...view.env },
    uid: view.uid,
    gid: view.gid,
    groups: view.groups.map(({ name, id }) => ({ name, id })),
    quotas: { limits: resourcesJson(view.quotas.limits), requests: resourcesJson(view.quotas.requests) },
    events: events.map(({ event, data, id }) => ({ event, data, ...(id !== undefined && { id }) })),
  }
}

function resourcesJson({ cpu, memory }: { cpu: number; memory: number }) {
  return { cpu, memory }
}
