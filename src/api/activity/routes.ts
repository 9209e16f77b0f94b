/** Declares the routes of activity; their handlers are in `handlers.ts`. */
import { createRoute, z } from '@hono/zod-openapi'
import type { WorkloadKind } from '../../config/idle.ts'
import { streamHeaders } from '../document/headers.ts'
import {
  forAdmins,
  forAdminsOfUser,
  forAdminsOfWorkload,
  forCaller,
  forLab,
  forUsers,
  forWorkload,
  type ProblemName,
  refusals,
} from '../document/problems.ts'
import { answered, json } from '../document/responses.ts'
import { followHeaders, plainHeaders } from '../document/schemas.ts'
import { requires, requiresLabToken } from '../document/security.ts'
import type { CommonParts } from '../request/env.ts'
import { type Audience, namesOf, prefixes } from './parts.ts'
import { activityPage, keepBody, keptAnswer, pathsOf, policyAnswer, workloadActivity } from './schemas.ts'
import * as words from './words.ts'

type ApiConfig = CommonParts['config']

const tags = ['activity']
const headers = plainHeaders

/** Who may ask a route, by its audience. */
function common(audience: Audience, { identity }: ApiConfig) {
  const scope = audience === 'admin' ? 'admin:jupyterlab' : 'exec:notebook'
  return { tags, security: audience === 'lab' ? requiresLabToken(identity) : requires(identity, scope) }
}

/** Names of operations differ by audience: `getLabActivity`, `getLabActivityAsAdmin`, `getActivityFromLab`. */
const suffixes: Readonly<Record<Audience, string>> = { user: '', admin: 'AsAdmin', lab: 'FromLab' }

const titles: Readonly<Record<WorkloadKind, string>> = {
  lab: 'Lab',
  app: 'App',
  notebook: 'Notebook',
  statefulset: 'StatefulSet',
}

const admissions = {
  lab: { user: forUsers, admin: forAdminsOfUser, lab: forLab },
  others: { user: forWorkload, admin: forAdminsOfWorkload, lab: forLab },
} as const satisfies Record<string, Record<Audience, readonly ProblemName[]>>

/** The routes of one workload. From inside a lab the workload is the lab, so the path does not name its kind. */
export function workloadRoutes(audience: Audience, kind: WorkloadKind, config: ApiConfig) {
  const params = pathsOf({ sizes: [], limits: config.api.limits })[kind]
  const names = namesOf[kind].map(name => `/{${name}}`).join('')
  const path = `${prefixes[audience]}${audience === 'lab' ? '' : `/${kind}`}${names}`
  const what = audience === 'lab' ? 'the lab that asks' : whose(audience, kind)
  const named = (verb: string) => `${verb}${audience === 'lab' ? '' : titles[kind]}`
  const errors: readonly ProblemName[] = [...admissions[kind === 'lab' ? 'lab' : 'others'][audience], 'noWorkload']
  const changing: readonly ProblemName[] = [...errors, 'isStopping', ...(audience === 'lab' ? [] : ['ofPage' as const])]
  const all = common(audience, config)
  return {
    state: createRoute({
      ...all,
      method: 'get',
      path,
      operationId: `${named('get')}Activity${suffixes[audience]}`,
      summary: `The activity of ${what}`,
      description: words.stateWords,
      request: { params, headers },
      responses: { 200: json('what is known of it', workloadActivity, words.stateExample), ...refusals(errors) },
    }),
    push: createRoute({
      ...all,
      method: 'post',
      path: `${path}/activity`,
      operationId: `${named('report')}Activity${suffixes[audience]}`,
      summary: `Report activity of ${what}`,
      description: words.pushWords,
      request: { params, headers },
      responses: { 204: { description: 'it counts', headers: answered() }, ...refusals(changing) },
    }),
    keep: createRoute({
      ...all,
      method: 'post',
      path: `${path}/keep-alive`,
      operationId: `${named('keep')}Alive${suffixes[audience]}`,
      summary: `Keep ${what} from being stopped for idleness`,
      description: words.keepWords,
      request: { params, headers, body: { required: true, content: { 'application/json': { schema: keepBody } } } },
      responses: {
        200: json('what was granted', keptAnswer, words.keptExample),
        ...refusals([...changing, 'keepAliveOff', ...bodyProblems]),
      },
    }),
    release: createRoute({
      ...all,
      method: 'delete',
      path: `${path}/keep-alive`,
      operationId: `${named('release')}${suffixes[audience]}`,
      summary: `End the keep-alive of ${what}`,
      description: words.releaseWords,
      request: { params, headers },
      responses: { 204: { description: 'there is none now', headers: answered() }, ...refusals(changing) },
    }),
  }
}

const whose = (audience: Audience, kind: WorkloadKind) => {
  const title = kind === 'statefulset' ? 'StatefulSet' : kind
  if (audience === 'admin') return kind === 'lab' ? 'anybody’s lab' : `any ${title}`
  return kind === 'lab' ? 'your lab' : `your ${title}`
}

const bodyProblems = [
  ...(['badJson', 'cutBody', 'largeBody', 'notJson', 'badSeconds', 'missingField', 'unknownField'] as const),
  ...(['repeatedField', 'deepBody', 'muchBody', 'tooManyBodies', 'crowdedBodies'] as const),
] as const satisfies ProblemName[]

/** The stream of events of an audience. */
export function eventsRoute(audience: Audience, config: ApiConfig) {
  const admission: readonly ProblemName[] = { user: forCaller, admin: forAdmins, lab: forLab }[audience]
  const params = pathsOf({ sizes: [], limits: config.api.limits }).lab
  return createRoute({
    ...common(audience, config),
    method: 'get',
    path: `${prefixes[audience]}${audience === 'lab' ? '/{username}' : ''}/events`,
    operationId: `followActivity${suffixes[audience]}`,
    summary: { user: 'Your events', admin: 'The events of all', lab: 'The events of the lab that asks' }[audience],
    description: words.eventsWords,
    request: { headers: followHeaders, ...(audience === 'lab' && { params }) },
    responses: {
      200: {
        description: 'server-sent events, without an end',
        headers: answered(streamHeaders),
        content: { 'text/event-stream': { schema: z.string(), example: words.exampleStream } },
      },
      ...refusals([...admission, 'badEventId', 'tooManyStreams', 'crowdedStreams']),
    },
  })
}

/** Lists of a kind: its first page, and the one after an id. */
export function listRoutes(kind: WorkloadKind, config: ApiConfig) {
  const all = common('admin', config)
  const prefix = prefixes.admin
  const names = namesOf[kind].map(name => `/{${name}}`).join('')
  const answer = json('a page', activityPage, words.pageExample)
  const ofNext = kind === 'lab' ? forAdminsOfUser : forAdminsOfWorkload
  return {
    first: createRoute({
      ...all,
      method: 'get',
      path: `${prefix}/${kind}`,
      operationId: `list${titles[kind]}Activity`,
      summary: `The activity of every ${kind}`,
      description: words.listWords,
      request: { headers },
      responses: { 200: answer, ...refusals(forAdmins) },
    }),
    next: createRoute({
      ...all,
      method: 'get',
      path: `${prefix}/after/${kind}${names}`,
      operationId: `list${titles[kind]}ActivityAfter`,
      summary: `The page after a ${kind}`,
      description: words.listWords,
      request: { params: pathsOf({ sizes: [], limits: config.api.limits })[kind], headers },
      responses: { 200: answer, ...refusals(ofNext) },
    }),
  }
}

export const policyRoute = (config: ApiConfig) =>
  createRoute({
    ...common('admin', config),
    method: 'get',
    path: `${prefixes.admin}/policy`,
    operationId: 'getIdlePolicy',
    summary: 'The rules in effect',
    description: words.policyWords,
    request: { headers },
    responses: { 200: json('as configured', policyAnswer, words.policyExample), ...refusals(forAdmins) },
  })
