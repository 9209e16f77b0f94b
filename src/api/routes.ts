/** The declarations of the routes of SQR-066, "Lab controller REST API", without what they do. */
import { createRoute, type z } from '@hono/zod-openapi'
import type { LabEvent } from '../domain.ts'
import type { ApiParts } from './env.ts'
import { type Header, type Headers, locationHeader, requestIdHeader, streamHeaders } from './headers.ts'
import { forAdmins, forUsers, refusals } from './problems.ts'
import {
  createBody,
  createHeaders,
  eventsHeaders,
  labEvent,
  labStatus,
  plainHeaders,
  userList,
  userPath,
} from './schemas.ts'
import { requires } from './security.ts'
import { formatEvent, preamble } from './sse.ts'

const tags = ['labs']

export function labRoutes({ api, lab, identity }: ApiParts['config']) {
  const { prefix, limits } = api
  const bounds = { sizes: Object.keys(lab.sizes), limits }
  const params = userPath(bounds)
  const ofUsers = requires(identity, 'exec:notebook')
  const ofAdmins = requires(identity, 'admin:jupyterlab')
  return {
    list: createRoute({
      method: 'get',
      path: `${prefix}/labs`,
      operationId: 'listLabs',
      tags,
      summary: 'The users whose lab is running',
      security: ofAdmins,
      request: { headers: plainHeaders },
      responses: { 200: json('their names, sorted', userList, ['ada', 'grace']), ...refusals(forAdmins) },
    }),
    status: createRoute({
      method: 'get',
      path: `${prefix}/labs/{username}`,
      operationId: 'getLab',
      tags,
      summary: 'The lab of a user',
      security: ofAdmins,
      request: { params, headers: plainHeaders },
      responses: { 200: json('the lab', labStatus, labExample), ...refusals([...forAdmins, 'noLab']) },
    }),
    ownStatus: createRoute({
      method: 'get',
      path: `${prefix}/user-status`,
      operationId: 'getOwnLab',
      tags,
      summary: 'The lab of the caller',
      security: ofUsers,
      request: { headers: plainHeaders },
      responses: { 200: json('the lab', labStatus, labExample), ...refusals([...forAdmins, 'noLab']) },
    }),
    create: createRoute({
      method: 'post',
      path: `${prefix}/labs/{username}/create`,
      operationId: 'createLab',
      tags,
      summary: 'Create a lab for the caller',
      description: createWords,
      security: ofUsers,
      request: {
        params,
        headers: createHeaders(bounds),
        body: {
          required: true,
          content: { 'application/json': { schema: createBody(bounds), examples: createExamples } },
        },
      },
      responses: {
        303: { description: 'accepted: no crash loses it now', headers: answered({ Location: locationHeader }), links },
        ...refusals([...forUsers, ...createProblems]),
      },
    }),
    remove: createRoute({
      method: 'delete',
      path: `${prefix}/labs/{username}`,
      operationId: 'deleteLab',
      tags,
      summary: 'Stop and remove the lab of a user',
      description: removeWords,
      security: ofAdmins,
      request: { params, headers: plainHeaders },
      responses: {
        202: { description: 'accepted: no crash loses it now', headers: answered(), links },
        ...refusals([...forAdmins, 'ofPage', 'noLab']),
      },
    }),
    events: createRoute({
      method: 'get',
      path: `${prefix}/labs/{username}/events`,
      operationId: 'followEvents',
      tags,
      summary: 'The events of the caller’s current operation',
      description: eventsWords,
      security: ofUsers,
      request: { params, headers: eventsHeaders },
      responses: {
        200: {
          description: 'server-sent events, until the operation has ended: each is one of these',
          headers: answered(streamHeaders),
          content: { 'text/event-stream': { schema: labEvent, example: events[0]! as unknown } },
        },
        204: { description: 'nothing will follow the event that was named', headers: answered() },
        ...refusals([...forUsers, 'noLab', 'badEventId']),
      },
    }),
  }
}

/** What all answers of the app bear, and what one has beside it. */
export function answered(more: Headers = {}): Record<string, Header> {
  return { 'X-Request-ID': requestIdHeader(), ...more }
}

/** A success that is JSON. */
export function json<T extends z.ZodType>(description: string, schema: T, example: z.output<T>) {
  return { description, headers: answered(), content: { 'application/json': { schema, example: example as unknown } } }
}

const createProblems = [
  'badJson',
  'noLabForYou',
  'strongToken',
  'ofPage',
  'cutBody',
  'labExists',
  'largeBody',
  'notJson',
  'badField',
  'missingField',
  'unknownField',
  'longField',
  'repeatedField',
  'deepBody',
  'muchBody',
  'misconfigured',
] as const

/** Where to look after an operation was accepted. */
const links = {
  status: link('getLab', 'the lab, for administrators'),
  events: link('followEvents', 'the operation, for the user'),
  deletion: link('deleteLab', 'removes the lab, for administrators'),
}

function link(operationId: string, description: string) {
  return { operationId, description, parameters: { username: '$request.path.username' } }
}

const createWords = `The answer comes when the creation is queued; its events tell how it goes on. A lab that has failed is removed first.
Another user’s lab cannot be created, by an administrator neither.`

const removeWords = `A creation in progress is superseded, and a deletion in progress joined. Its events tell how it goes on;
when it has ended well there is no lab any more, and its events can be read for ten minutes more.`

const op = 1767225600000000
const events: LabEvent[] = [
  { event: 'info', data: 'lab creation initiated for ada', id: `${op}-1` },
  { event: 'progress', data: '1', id: `${op}-2` },
  { event: 'complete', data: 'Operation complete for ada', id: `${op}-3` },
]

const eventsWords = `Server-sent events: \`id\` is \`<operation>-<number>\`, without gaps; \`event\` is one of
- \`info\`: a message, or a stage that is done
- \`progress\`: a whole percentage, which never falls
- \`error\`: what went wrong or may go wrong, in words; the operation goes on
- \`complete\`: it has ended well
- \`failed\`: it has ended; the last \`error\` before says why

After \`complete\` or \`failed\` the stream is closed. Without \`Last-Event-ID\` it begins at the start of the current
operation; with it, it goes on after that event, at any replica, and in that operation although another may have begun. A
stream that ended before its operation (\`retry\` says how soon to come back) is taken up in this way. A comment
line is sent every 15 s of silence. A user may have 20 open streams by default, and a reader that takes nothing is cut.

\`\`\`
${preamble}${events.map(formatEvent).join('').trimEnd()}
\`\`\``

const gibibyte = 2 ** 30
const labExample: z.output<typeof labStatus> = {
  username: 'ada',
  status: 'running',
  pod: 'present',
  internal_url: 'http://nb-ada.nublado-ada:8888/',
  options: { image_type: 'recommended', size: 'small' },
  env: { TZ: 'UTC', JUPYTERHUB_API_TOKEN: '***' },
  uid: 4000000,
  gid: 4000000,
  groups: [{ name: 'ada', id: 4000000 }],
  quotas: { limits: { cpu: 1, memory: 4 * gibibyte }, requests: { cpu: 0.25, memory: gibibyte } },
  events,
}

const createExamples = {
  plain: {
    summary: 'plain values',
    value: { options: { image_type: 'recommended', size: 'small' }, env: { TZ: 'UTC' } },
  },
  form: {
    summary: 'as JupyterHub’s form gives them',
    value: {
      options: { image_tag: ['w_2026_01'], size: ['small'], enable_debug: ['true'], _xsrf: ['2|abc'] },
      env: { JUPYTERHUB_API_URL: 'http://hub.nublado:8081/nb/hub/api' },
    },
  },
}
