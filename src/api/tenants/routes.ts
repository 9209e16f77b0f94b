/** Declares the routes of tenants; their handlers are in `handlers.ts`. */
import { createRoute, z } from '@hono/zod-openapi'
import { streamHeaders } from '../document/headers.ts'
import { forTenant, forTenants, refusals } from '../document/problems.ts'
import { answered, json } from '../document/responses.ts'
import { followHeaders, plainHeaders } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import type { CommonParts } from '../request/env.ts'
import { sudoBody, sudoGrant, tenantDetail, tenantList, tenantPath } from './schemas.ts'
import * as words from './words.ts'

const tags = ['tenants']

export function tenantRoutes({ api: { prefix }, identity }: CommonParts['config']) {
  const common = { tags, security: requires(identity, 'exec:notebook') }
  const params = tenantPath
  const headers = plainHeaders
  return {
    list: createRoute({
      ...common,
      method: 'get',
      path: prefix,
      operationId: 'listTenants',
      summary: 'All LNamespaces',
      description: words.listWords,
      request: { headers },
      responses: {
        200: json('by name', tenantList, words.listExample),
        ...refusals([...forTenants, 'notSynced']),
      },
    }),
    detail: createRoute({
      ...common,
      method: 'get',
      path: `${prefix}/{name}`,
      operationId: 'getTenant',
      summary: 'An LNamespace',
      description: words.detailWords,
      request: { params, headers },
      responses: {
        200: json('the LNamespace', tenantDetail, words.detailExample),
        ...refusals([...forTenant, 'notSynced']),
      },
    }),
    grant: createRoute({
      ...common,
      method: 'post',
      path: `${prefix}/{name}/sudo`,
      operationId: 'beginSudo',
      summary: 'Sudo with an end for the caller',
      description: words.grantWords,
      request: { params, headers, body: { required: true, content: { 'application/json': { schema: sudoBody } } } },
      responses: {
        202: json('the grant is stored: no crash loses it now', sudoGrant, words.grantExample),
        ...refusals([...forTenant, ...grantProblems]),
      },
    }),
    end: createRoute({
      ...common,
      method: 'delete',
      path: `${prefix}/{name}/sudo`,
      operationId: 'endSudo',
      summary: 'End the sudo of the caller',
      description: words.endWords,
      request: { params, headers },
      responses: {
        202: { description: 'it ends: no crash undoes that', headers: answered() },
        ...refusals([...forTenant, 'noClusterUser', 'ofPage', 'sudoOff', 'noGrant', 'notSynced']),
      },
    }),
    events: createRoute({
      ...common,
      method: 'get',
      path: `${prefix}/{name}/events`,
      operationId: 'followTenant',
      summary: 'The events of an LNamespace',
      description: words.eventsWords,
      request: { params, headers: followHeaders },
      responses: {
        200: {
          description: 'server-sent events, until the LNamespace is gone',
          headers: answered(streamHeaders),
          content: { 'text/event-stream': { schema: z.string(), example: words.exampleStream } },
        },
        204: { description: 'no event will follow the one that was named', headers: answered() },
        ...refusals([...forTenant, 'noRole', 'badEventId', 'tooManyStreams', 'crowdedStreams', 'notSynced']),
      },
    }),
  }
}

const grantProblems = [
  'badJson',
  'noClusterUser',
  'notEligible',
  'ofPage',
  'sudoOff',
  'cutBody',
  'notAccepted',
  'largeBody',
  'notJson',
  'badWish',
  'missingField',
  'unknownField',
  'repeatedField',
  'deepBody',
  'muchBody',
  'tooManyBodies',
  'tooManyGrants',
  'crowdedBodies',
  'unguarded',
  'notSynced',
] as const
