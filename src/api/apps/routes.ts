/** Declares the routes of apps; their handlers are in `handlers.ts`. */
import { createRoute, z } from '@hono/zod-openapi'
import { workloadActivity } from '../activity/schemas.ts'
import { stateExample } from '../activity/words.ts'
import { etagHeader, streamHeaders } from '../document/headers.ts'
import { bodyProblems, filterProblems, forAdmins, forApps, type ProblemName, refusals } from '../document/problems.ts'
import { answered, json } from '../document/responses.ts'
import { followHeaders, plainHeaders } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import type { CommonParts } from '../request/env.ts'
import { type AppAudience, prefixes } from './parts.ts'
import {
  appDetail,
  appList,
  appPath,
  changeBody,
  changeHeaders,
  createBody,
  listQuery,
  podList,
  sessionsQuery,
} from './schemas.ts'
import * as words from './words.ts'

type ApiConfig = CommonParts['config']

export const scopes = { user: 'exec:notebook', admin: 'admin:jupyterlab' } as const satisfies Record<
  AppAudience,
  string
>
export const suffixes: Readonly<Record<AppAudience, string>> = { user: '', admin: 'AsAdmin' }

function terms(audience: AppAudience, config: ApiConfig) {
  const common = { tags: ['apps'], security: requires(config.identity, scopes[audience]) }
  const named = (operation: string) => `${operation}${suffixes[audience]}`
  const ofApp: readonly ProblemName[] = [...forApps[audience], 'badAppId', 'noApp']
  const path = `${prefixes[audience]}/apps`
  return { common, named, ofApp, path, changing: [...ofApp, 'ofPage', 'appChanged'] as readonly ProblemName[] }
}

const versioned = (description: string) => {
  const answer = json(description, appDetail, words.detailExample)
  return { ...answer, headers: answered({ ETag: etagHeader }) }
}

const params = appPath

/** The routes that show apps to an audience. */
export function readRoutes(audience: AppAudience, config: ApiConfig) {
  const { common, named, ofApp, path } = terms(audience, config)
  const headers = plainHeaders
  return {
    list: createRoute({
      ...common,
      method: 'get',
      path,
      operationId: named('listApps'),
      summary: audience === 'user' ? 'The apps of your groups' : 'All apps',
      description: words.listWords,
      request: { headers, query: listQuery },
      responses: {
        200: json('a page', appList, words.listExample),
        ...refusals([...forApps[audience], ...filterProblems]),
      },
    }),
    detail: createRoute({
      ...common,
      method: 'get',
      path: `${path}/{id}`,
      operationId: named('getApp'),
      summary: 'An app',
      description: words.detailWords,
      request: { params, headers },
      responses: { 200: versioned('the app'), ...refusals(ofApp) },
    }),
    pods: createRoute({
      ...common,
      method: 'get',
      path: `${path}/{id}/pods`,
      operationId: named('listAppPods'),
      summary: 'The pods of an app',
      description: words.podsWords,
      request: { params, headers },
      responses: { 200: json('its pods', podList, words.podsExample), ...refusals(ofApp) },
    }),
    activity: createRoute({
      ...common,
      method: 'get',
      path: `${path}/{id}/activity`,
      operationId: named('getActivityOfApp'),
      summary: 'The activity of an app',
      description: words.activityWords,
      request: { params, headers },
      responses: {
        200: json('what is known of it', workloadActivity, { ...stateExample, kind: 'app', id: 'mlflow' }),
        ...refusals([...ofApp, 'noWorkload']),
      },
    }),
    events: createRoute({
      ...common,
      method: 'get',
      path: `${path}/{id}/events`,
      operationId: named('followApp'),
      summary: 'The events of an app',
      description: words.eventsWords,
      request: { params, headers: followHeaders },
      responses: {
        200: {
          description: 'server-sent events, until the app is gone',
          headers: answered(streamHeaders),
          content: { 'text/event-stream': { schema: z.string(), example: words.exampleStream } },
        },
        204: { description: 'no event will follow the one that was named', headers: answered() },
        ...refusals([...ofApp, 'badEventId', 'tooManyStreams', 'crowdedStreams']),
      },
    }),
  }
}

/** The routes that change apps. */
export function changeRoutes(audience: AppAudience, config: ApiConfig) {
  const { common, named, changing, path } = terms(audience, config)
  const headers = changeHeaders
  const verb = (operation: 'start' | 'stop') => ({
    ...common,
    method: 'post' as const,
    path: `${path}/{id}/${operation}`,
    operationId: named(`${operation}App`),
    request: { params, headers },
    responses: { 202: versioned('the wish is stored'), ...refusals(changing) },
  })
  const body = { required: true, content: { 'application/json': { schema: changeBody(config.api.limits) } } }
  const creation = { required: true, content: { 'application/json': { schema: createBody(config.api.limits) } } }
  return {
    create: createRoute({
      ...common,
      method: 'post',
      path,
      operationId: named('createApp'),
      summary: 'Make an app of a template',
      description: words.createWords,
      request: { headers: plainHeaders, body: creation },
      responses: {
        200: versioned('it was made by the same wish before'),
        201: versioned('it is made'),
        ...refusals([...forApps[audience], 'ofPage', ...bodyProblems, 'badNewApp', 'idTaken']),
      },
    }),
    change: createRoute({
      ...common,
      method: 'patch',
      path: `${path}/{id}`,
      operationId: named('changeApp'),
      summary: 'Change an app',
      description: words.changeWords,
      request: { params, headers, body },
      responses: {
        202: versioned('the wish is stored'),
        ...refusals([...changing, ...bodyProblems, 'badAppChange', 'secretTaken']),
      },
    }),
    delete: createRoute({
      ...common,
      method: 'delete',
      path: `${path}/{id}`,
      operationId: named('deleteApp'),
      summary: 'Delete an app',
      description: words.deleteWords,
      request: { params, headers },
      responses: { 202: { description: 'it is being deleted', headers: answered() }, ...refusals(changing) },
    }),
    start: createRoute({ ...verb('start'), summary: 'Start an app', description: words.startWords }),
    stop: createRoute({ ...verb('stop'), summary: 'Stop an app', description: words.stopWords }),
  }
}

export const sessionsRoute = (config: ApiConfig) =>
  createRoute({
    tags: ['sessions'],
    security: requires(config.identity, 'admin:jupyterlab'),
    method: 'delete',
    path: `${prefixes.admin}/sessions`,
    operationId: 'revokeSessions',
    summary: 'End sessions',
    description: words.revokeWords,
    request: { headers: plainHeaders, query: sessionsQuery },
    responses: {
      202: { description: 'they are void', headers: answered() },
      ...refusals([...forAdmins, 'noBearer', 'ofPage', ...filterProblems, 'nobodyNamed']),
    },
  })
