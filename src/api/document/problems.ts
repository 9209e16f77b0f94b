/** The errors of each route, for the OpenAPI document. */
import type { z } from '@hono/zod-openapi'
import { sharedResponse } from './components.ts'
import { type Header, requestIdHeader } from './headers.ts'
import { type Problem, problemTable } from './problem-table.ts'
import { errorBody } from './schemas.ts'

export type ProblemName = keyof typeof problemTable

const problems: Readonly<Record<ProblemName, Problem>> = problemTable

/** Errors of every route: no valid request reached it, or it failed internally. */
export const anywhere = [
  'badRequest',
  'badHead',
  'slowRequest',
  'longTarget',
  'badExpectation',
  'tooManyUnanswered',
  'largeHead',
  'manyHeaders',
  'internal',
  'busy',
] as const satisfies ProblemName[]

/** Further errors of routes under the prefix. */
export const underPrefix = [...anywhere, 'crowded'] as const satisfies ProblemName[]

const admitted = [
  ...underPrefix,
  'unauthorized',
  'refusedToken',
  'badClaims',
  'tooMany',
  'tooOften',
  'unavailable',
] as const satisfies ProblemName[]

/** Errors of routes that need a token (`admit.ts`), with a user in their path or without. */
export const forAdmins = [...admitted, 'noAdminScope', 'badOwnName'] as const satisfies ProblemName[]
export const forAdminsOfUser = [...admitted, 'noAdminScope', 'badName'] as const satisfies ProblemName[]
export const forCaller = [...admitted, 'noUserScope', 'badOwnName'] as const satisfies ProblemName[]
export const forUsers = [...admitted, 'noUserScope', 'otherUser', 'badName'] as const satisfies ProblemName[]
/** Errors of routes of tenants. */
export const forTenants = [...forCaller, 'noBearer'] as const satisfies ProblemName[]
export const forTenant = [...forTenants, 'badTenantName', 'noTenant'] as const satisfies ProblemName[]
/** Errors of routes of apps. */
const forAppsOf = ['noBearer', 'notSynced'] as const satisfies ProblemName[]
export const forApps = {
  user: [...forCaller, ...forAppsOf, 'notMember'],
  admin: [...forAdmins, ...forAppsOf],
} as const satisfies Record<string, ProblemName[]>
/** Errors of queries and of bodies. */
export const filterProblems = ['badQuery', 'badFilter', 'unknownFilter'] as const satisfies ProblemName[]
export const bodyProblems = [
  ...(['badJson', 'cutBody', 'largeBody', 'notJson', 'unknownField', 'repeatedField'] as const),
  ...(['deepBody', 'muchBody', 'tooManyBodies', 'crowdedBodies', 'missingField'] as const),
] as const satisfies ProblemName[]
/** Errors of routes of containers, and of those that take the token of operators. */
export const forContainers = {
  user: [...forCaller, 'noBearer'],
  admin: [...forAdmins, 'noBearer'],
} as const satisfies Record<string, ProblemName[]>
export const forOperators = [
  ...[...underPrefix, 'noManagementToken', 'wrongManagementToken', 'noBearer', 'tooOften', 'unavailable'],
] as const satisfies ProblemName[]
/** Errors of routes of workloads that are no labs, and of routes that a lab itself uses. */
export const forWorkload = [...forCaller, 'badWorkloadName'] as const satisfies ProblemName[]
export const forAdminsOfWorkload = [...forAdmins, 'badWorkloadName'] as const satisfies ProblemName[]
export const forLab = [
  ...[...underPrefix, 'unauthorized', 'otherIngress', 'badName'],
  ...['tooMany', 'tooOften', 'unavailable'],
] as const satisfies ProblemName[]
/** Errors of routes that need no token. */
export const forAll = [...underPrefix, 'tooOftenByAll'] as const satisfies ProblemName[]

/** A response of the document, in the framework's form. */
export interface Refusal {
  readonly description: string
  readonly headers: Record<string, Header>
  readonly content: { 'application/json': { schema: z.ZodType; examples: Record<string, object> } }
}

/** One response for each status of these errors. Routes with the same errors share it. */
export function refusals<Name extends ProblemName>(
  names: readonly Name[],
): { [Status in (typeof problemTable)[Name]['status']]: Refusal } {
  const statuses = [...new Set(names.map(name => problems[name].status))].sort()
  const responses = statuses.map(status => {
    const those = names.filter(name => problems[name].status === status)
    const response = refusal(Object.fromEntries(those.map(name => [name, problems[name]])))
    return [status, those.length > mostShared ? response : sharedResponse(nameOf(those), response)]
  })
  return Object.fromEntries(responses)
}

/** A longer list belongs to one route only, and would make a long name. */
const mostShared = 4

const nameOf = (names: readonly string[]) => names.map(name => name.charAt(0).toUpperCase() + name.slice(1)).join('Or')

function refusal(those: Readonly<Record<string, Problem>>): Refusal {
  const list = Object.values(those)
  const common = { 'X-Request-ID': requestIdHeader(!list.some(({ nameless }) => nameless)) }
  const examples = Object.entries(those).map(([name, { when, example }]) => [
    name,
    { summary: when, value: { detail: [example] } },
  ])
  return {
    description: list.map(({ when }) => when).join('; or '),
    headers: Object.assign(common, ...list.map(({ headers }) => headers)),
    content: { 'application/json': { schema: errorBody, examples: Object.fromEntries(examples) } },
  }
}
