/** Declares the routes of containers; their handlers are in `handlers.ts`. */
import { createRoute, z } from '@hono/zod-openapi'
import type { Config } from '../../config/schema.ts'
import { logHeaders } from '../apps/log-streams.ts'
import { fixedHeaders, streamHeaders } from '../document/headers.ts'
import { bodyProblems, filterProblems, forContainers, type ProblemName, refusals } from '../document/problems.ts'
import { answered, json } from '../document/responses.ts'
import { followHeaders, plainHeaders } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import type { CommonParts } from '../request/env.ts'
import { type DispatchAudience, prefixes } from './parts.ts'
import {
  changeBody,
  containerBody,
  containerList,
  containerPath,
  createBody,
  createHeaders,
  listQueries,
  logQuery,
} from './schemas.ts'
import * as words from './words.ts'

export type ApiConfig = CommonParts['config'] & Pick<Config, 'dispatch'>

export const scopes = { user: 'exec:notebook', admin: 'admin:jupyterlab' } as const satisfies Record<
  DispatchAudience,
  string
>
export const suffixes: Readonly<Record<DispatchAudience, string>> = { user: '', admin: 'AsAdmin' }

const containerAnswer = (description: string) => json(description, containerBody, words.containerExample)
const params = containerPath
const headers = plainHeaders

function terms(audience: DispatchAudience, { identity }: ApiConfig) {
  return {
    common: { tags: ['containers'], security: requires(identity, scopes[audience]) },
    named: (operation: string) => `${operation}${suffixes[audience]}`,
    path: `${prefixes[audience]}/containers`,
    ofContainer: [...forContainers[audience], 'badContainerId', 'noContainer'] as readonly ProblemName[],
  }
}

/** The routes that show containers to an audience. */
export function readRoutes<Audience extends DispatchAudience>(audience: Audience, config: ApiConfig) {
  const { common, named, path, ofContainer } = terms(audience, config)
  return {
    list: createRoute({
      ...{ ...common, method: 'get', path, operationId: named('listContainers') },
      summary: audience === 'user' ? 'Your containers' : 'All containers',
      description: words.listWords,
      request: { headers, query: listQueries[audience] },
      responses: {
        200: json('a page', containerList, words.listExample),
        ...refusals([...forContainers[audience], ...filterProblems, 'tooManyLarge', 'crowdedLarge']),
      },
    }),
    detail: createRoute({
      ...{ ...common, method: 'get', path: `${path}/{uuid}`, operationId: named('getContainer') },
      ...{ summary: 'A container', description: words.getWords },
      request: { params, headers },
      responses: { 200: containerAnswer('the container'), ...refusals(ofContainer) },
    }),
    events: createRoute({
      ...{ ...common, method: 'get', path: `${path}/{uuid}/events`, operationId: named('followContainer') },
      ...{ summary: 'The events of a container', description: words.eventsWords },
      request: { params, headers: followHeaders },
      responses: {
        200: {
          description: 'server-sent events, until the container has ended',
          headers: answered(streamHeaders),
          content: { 'text/event-stream': { schema: z.string(), example: words.exampleStream } },
        },
        204: { description: 'no event will follow the one that was named', headers: answered() },
        ...refusals([...ofContainer, 'badEventId', 'tooManyStreams', 'crowdedStreams']),
      },
    }),
    log: createRoute({
      ...{ ...common, method: 'get', path: `${path}/{uuid}/log`, operationId: named('readContainerLog') },
      ...{ summary: 'The output of a container', description: words.logWords },
      request: { params, headers, query: logQuery },
      responses: {
        200: {
          description: 'the output, as far as it was kept',
          headers: answered(fixedHeaders(logHeaders)),
          content: { 'text/plain': { schema: z.string(), example: 'field 17: 4096 sources\n' } },
        },
        ...refusals([...ofContainer, ...filterProblems, 'outputDropped', 'tooManyLogs', 'crowdedLogs']),
      },
    }),
  }
}

/** The routes that change containers. */
export function changeRoutes(audience: DispatchAudience, config: ApiConfig) {
  const { common, named, path, ofContainer } = terms(audience, config)
  const { limits } = config.api
  const bodyOf = <T extends z.ZodType>(schema: T) =>
    ({ required: true, content: { 'application/json': { schema } } }) as const
  const engine = config.dispatch?.Containers.RuntimeEngine ?? 'docker'
  return {
    create: createRoute({
      ...{ ...common, method: 'post', path, operationId: named('createContainer') },
      ...{ summary: 'Queue a container', description: words.createWords },
      request: { headers: createHeaders(limits), body: bodyOf(createBody(limits, engine)) },
      responses: {
        201: containerAnswer('it is in the queue'),
        ...refusals([
          ...([...forContainers[audience], 'ofPage', ...bodyProblems] as const),
          ...(['badContainer', 'noTypeFits', 'otherTenant', 'whichTenant', 'longContainer', 'otherBody'] as const),
          ...(['containerDropped', 'queueFull', 'crowdedQueue'] as const),
        ]),
      },
    }),
    change: createRoute({
      ...{ ...common, method: 'patch', path: `${path}/{uuid}`, operationId: named('changeContainer') },
      ...{ summary: 'Change the priority of a container', description: words.changeWords },
      request: { params, headers, body: bodyOf(changeBody()) },
      responses: {
        202: containerAnswer('it is changed'),
        ...refusals([...ofContainer, 'ofPage', ...bodyProblems, 'badPriority', 'containerEnded', 'changedOften']),
      },
    }),
    cancel: createRoute({
      ...{ ...common, method: 'delete', path: `${path}/{uuid}`, operationId: named('cancelContainer') },
      ...{ summary: 'Cancel a container', description: words.cancelWords },
      request: { params, headers },
      responses: { 202: containerAnswer('it is, or will be, cancelled'), ...refusals([...ofContainer, 'ofPage']) },
    }),
  }
}
