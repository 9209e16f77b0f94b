/** Declares the routes of SQR-066, "Lab controller REST API"; their handlers are in `handlers.ts`. */

import { createRoute, z } from '@hono/zod-openapi'
import { appliedHeader, locationHeader, streamHeaders } from '../document/headers.ts'
import { forAdmins, forAdminsOfUser, forCaller, forUsers, refusals } from '../document/problems.ts'
import { answered, json } from '../document/responses.ts'
import { plainHeaders, userPath } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import type { ApiParts } from '../request/env.ts'
import { createBody, createHeaders, eventsHeaders, labStatus, userList } from './schemas.ts'
import { createExamples, createWords, eventsWords, exampleStream, labExample, removeWords } from './words.ts'

const tags = ['labs']

export function labRoutes({ api, lab, images, identity }: ApiParts['config']) {
  const { prefix, limits } = api
  const location = locationHeader(labLocation(api, 'ada'))
  const bounds = { sizes: Object.keys(lab.sizes), limits }
  const params = userPath(bounds)
  const userAccess = requires(identity, 'exec:notebook')
  const adminAccess = requires(identity, 'admin:jupyterlab')
  return {
    list: createRoute({
      method: 'get',
      path: `${prefix}/labs`,
      operationId: 'listLabs',
      tags,
      summary: 'The users whose lab is running',
      description: 'A lab that is pending, terminating or failed is not listed.',
      security: adminAccess,
      request: { headers: plainHeaders },
      responses: { 200: json('their names, sorted', userList, ['ada', 'grace']), ...refusals(forAdmins) },
    }),
    status: createRoute({
      method: 'get',
      path: `${prefix}/labs/{username}`,
      operationId: 'getLab',
      tags,
      summary: 'The lab of a user',
      description: 'The status of the lab, what was asked for, and the events of its current operation.',
      security: adminAccess,
      request: { params, headers: plainHeaders },
      responses: { 200: json('the lab', labStatus, labExample), ...refusals([...forAdminsOfUser, 'noLab']) },
    }),
    ownStatus: createRoute({
      method: 'get',
      path: `${prefix}/user-status`,
      operationId: 'getOwnLab',
      tags,
      summary: 'The lab of the caller',
      description: 'The same as `getLab`, of the user whose token is sent.',
      security: userAccess,
      request: { headers: plainHeaders },
      responses: { 200: json('the lab', labStatus, labExample), ...refusals([...forCaller, 'noOwnLab']) },
    }),
    create: createRoute({
      method: 'post',
      path: `${prefix}/labs/{username}/create`,
      operationId: 'createLab',
      tags,
      summary: 'Create a lab for the caller',
      description: createWords,
      security: userAccess,
      request: {
        params,
        headers: createHeaders(bounds),
        body: {
          required: true,
          content: { 'application/json': { schema: createBody(bounds), examples: createExamples({ lab, images }) } },
        },
      },
      responses: {
        201: {
          description: 'accepted, for clients that send `Prefer: return=minimal`: no crash loses it now',
          headers: answered({ Location: location, 'Preference-Applied': appliedHeader }),
          links,
        },
        303: {
          description:
            'accepted: no crash loses it now. **Clients need not follow it and should not**: `Location` can lead to a route that the caller may not use',
          headers: answered({ Location: location }),
          links,
        },
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
      security: adminAccess,
      request: { params, headers: plainHeaders },
      responses: {
        202: { description: 'accepted: no crash loses it now', headers: answered(), links },
        ...refusals([...forAdminsOfUser, 'ofPage', 'noLab']),
      },
    }),
    events: createRoute({
      method: 'get',
      path: `${prefix}/labs/{username}/events`,
      operationId: 'followEvents',
      tags,
      summary: 'The events of the caller’s current operation',
      description: eventsWords,
      security: userAccess,
      request: { params, headers: eventsHeaders },
      responses: {
        200: {
          description: 'server-sent events, until the operation has ended; `x-event` is the form of one of them',
          headers: answered(streamHeaders),
          content: {
            'text/event-stream': {
              // As text: generated clients cannot read a stream of an object type. OpenAPI 3.1 cannot describe events.
              schema: z.string(),
              example: exampleStream,
              'x-event': { $ref: '#/components/schemas/Event' },
            },
          },
        },
        204: { description: 'no event will follow the one that was named', headers: answered() },
        ...refusals([...forUsers, 'noEvents', 'badEventId', 'tooManyStreams', 'crowdedStreams']),
      },
    }),
  }
}

/** The Location of a create: readable by administrators (SQR-066), or by the lab's own user. */
export function labLocation({ prefix, createLocation }: ApiParts['config']['api'], username: string): string {
  return createLocation === 'lab' ? `${prefix}/labs/${encodeURIComponent(username)}` : `${prefix}/user-status`
}

const createProblems = [
  'badJson',
  'noLabForYou',
  'strongToken',
  'ofPage',
  'cutBody',
  'labExists',
  'labTerminating',
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
  'tooManyBodies',
  'crowdedBodies',
] as const

/** Related operations after an operation was accepted. */
const links = {
  status: link('getLab', 'the lab, for administrators'),
  events: link('followEvents', 'the operation, for the user'),
  deletion: link('deleteLab', 'removes the lab, for administrators'),
}

function link(operationId: string, description: string) {
  return { operationId, description, parameters: { username: '$request.path.username' } }
}
