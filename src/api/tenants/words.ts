/** Descriptions and examples of the routes of tenants, for the document. */
import type { z } from '@hono/zod-openapi'
import type { TenantEvent } from '../../sudo/events.ts'
import { commonWords, type DocumentWords } from '../document/document.ts'
import { formatEvent, preamble } from '../sse/sse.ts'
import type { sudoGrant, tenantDetail, tenantList } from './schemas.ts'

export const documentWords: DocumentWords = {
  title: 'Skylab: tenants',
  description: `A tenant is a namespace that people make themselves, by an object of the kind LNamespace. LNamespaces are made, edited
and deleted at the API server of the cluster alone; here they are read, and somebody who is eligible gets sudo with an end.

${commonWords}
- The routes take bearer tokens alone: a request with a cookie, or from a page in a browser, is answered 403.
- An event stream is read with a library for server-sent events, not with a generated client: see \`followTenant\`.`,
  tags: [{ name: 'tenants', description: 'Namespaces that people make themselves, with sudo' }],
}

export const listWords = `Every caller sees the names of all of them and whether they are ready, as every account of the cluster does. \`roles\` are
those of the caller, by the user and the groups of the cluster that \`tenants.rest\` makes of them.`

export const detailWords = `Whom the LNamespace names, and who has sudo with an end for which reason, is shown only to callers with a role there.`

export const grantWords = `The caller must be in \`spec.sudo.eligible\`, by name or by a group. The answer comes when the grant is stored in the
status of the LNamespace: the right follows, which the event \`effective\` reports, and ends within a second after \`until\`, by
itself. It ends earlier if the entry of \`spec.sudo.eligible\` goes by which it was given.

A person has one grant in a tenant: a further request takes the place of the former one, so a request can be repeated.
The user then impersonates himself and the group: \`kubectl --as USER --as-group SUDOGROUP\`, or \`kubectl sudo\`.`

export const endWords = `Ends all sudo with an end of the caller in this tenant, within a second. It works where nothing can be granted, too. Sudo by
the list \`spec.sudoers\` stays.`

export const eventsWords = `Server-sent events. \`id\` is \`<generation>-<number>\`; \`data\` is a JSON object; \`event\` is one of
- \`condition\`: \`Ready\` has changed, or holds for a new generation: \`{"type", "status", "reason", "message"}\`
- \`granted\`: somebody gets sudo with an end: \`{"id", "user", "until", "reason"}\`
- \`effective\`: the API server lets them use it: \`{"id", "user", "until"}\`
- \`ended\`: it does not any more: \`{"id", "user", "why"}\`, where \`why\` is \`until\` (its end), \`released\` (a request to end it),
  \`replaced\` (by another request), \`ineligible\` (\`spec.sudo.eligible\` has changed) or \`unknown\`
- \`gone\`: the LNamespace is gone; the last event, without an id

Without \`Last-Event-ID\` a stream begins at the start of the current generation. With it, it goes on after that event, at any
replica. Only callers with a role in the tenant can follow it. A comment line is sent after 15 s of silence.

- An id of an LNamespace that is gone is answered 204: stop asking.
- An id that the stream does not have is answered with all events that are kept: the stream was lost and begun anew, or the id
  is of a former LNamespace of this name, whose numbers were lower.
- Events come from Redis. While it is silent there are none, and sudo works as ever; what happened meanwhile is reported when it
  answers again, \`why\` it ended as far as a replica still knows.`

export const listExample: z.output<typeof tenantList> = [
  { name: 'blue', ready: true, reason: 'Ready', roles: ['user', 'eligible'] },
  { name: 'green', ready: false, reason: 'Reserved', roles: [] },
]

const until = '2026-01-01T01:00:00.000Z'
export const grantExample: z.output<typeof sudoGrant> = {
  id: '0b0f6f0e-3a52-4f0c-8f2b-8f7d1b8f6f55',
  ...{ user: 'ada', until, reason: 'the queue is stuck', effective: false },
}

export const detailExample: z.output<typeof tenantDetail> = {
  ...listExample[0]!,
  ...{ generation: 3, sudoGroup: 'blue-sudoers', maxSeconds: 3600 },
  conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }],
  grants: [{ ...grantExample, effective: true }],
  people: {
    users: [{ kind: 'User', name: 'ada' }],
    managers: [{ kind: 'User', name: 'max' }],
    sudoers: [],
    eligible: [{ kind: 'Group', name: 'oncall' }],
  },
}

const { id, user } = grantExample
export const exampleEvents: TenantEvent[] = [
  { id: '3-1', event: 'granted', data: JSON.stringify({ id, user, until, reason: grantExample.reason }) },
  { id: '3-2', event: 'effective', data: JSON.stringify({ id, user, until }) },
  { id: '3-3', event: 'ended', data: JSON.stringify({ id, user, why: 'until' }) },
]

/** A stream, as text. */
export const exampleStream = `${preamble}${exampleEvents.map(formatEvent).join('')}`
