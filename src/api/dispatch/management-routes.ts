/** Declares the routes of operators, at Arvados' paths. */
import { createRoute } from '@hono/zod-openapi'
import { filterProblems, forOperators, type ProblemName, refusals } from '../document/problems.ts'
import { answered, json } from '../document/responses.ts'
import { plainHeaders } from '../document/schemas.ts'
import * as schemas from './management-schemas.ts'
import { managementRoot } from './parts.ts'
import { exampleInstances, exampleQueued } from './words.ts'

/** Added to the document with these routes. */
export const managementTokenScheme = {
  type: 'http',
  scheme: 'bearer',
  description: 'The content of `dispatch.managementTokenFile`. It is good for the routes of operators alone.',
} as const

const common = { tags: ['management'], security: [{ managementToken: [] as string[] }] }
const ofContainer = [...filterProblems, 'noParameter', 'noQueuedContainer'] as const satisfies ProblemName[]
const ofInstance = [...filterProblems, 'noParameter', 'noMachine'] as const satisfies ProblemName[]
const done = (description: string) => ({ description, headers: answered() })

export const containerReads = {
  list: createRoute({
    ...{ ...common, method: 'get', path: `${managementRoot}/containers`, operationId: 'listQueue' },
    summary: 'The queue',
    description: 'The first 1,000 containers that have not ended, with the types of machine that they fit.',
    request: { headers: plainHeaders },
    responses: {
      200: json('the queue', schemas.queuedContainers, exampleQueued),
      ...refusals([...forOperators, 'tooManyLarge', 'crowdedLarge']),
    },
  }),
  one: createRoute({
    ...{ ...common, method: 'get', path: `${managementRoot}/container`, operationId: 'getQueued' },
    summary: 'One entry of the queue',
    description: 'A container that has not ended.',
    request: { headers: plainHeaders, query: schemas.containerQuery },
    responses: {
      200: json('the entry', schemas.queuedBody, exampleQueued.items[0]!),
      ...refusals([...forOperators, ...ofContainer]),
    },
  }),
}

export const containerKill = createRoute({
  ...{ ...common, method: 'post', path: `${managementRoot}/containers/kill`, operationId: 'killContainer' },
  summary: 'Cancel a container',
  description: 'Cancels it, whoever owns it. One that runs gets SIGTERM, and SIGKILL if it goes on.',
  request: { headers: plainHeaders, query: schemas.containerKillQuery },
  responses: {
    200: done('it is, or will be, cancelled'),
    ...refusals([...forOperators, ...ofContainer, 'largeBody', 'containerEnded']),
  },
})

export const instanceReads = createRoute({
  ...{ ...common, method: 'get', path: `${managementRoot}/instances`, operationId: 'listInstances' },
  summary: 'The machines',
  description: 'All machines that are not gone by proof, also those that are being made.',
  request: { headers: plainHeaders },
  responses: {
    200: json('the machines', schemas.instances, exampleInstances),
    ...refusals([...forOperators, 'tooManyLarge', 'crowdedLarge']),
  },
})

export const behaviors = ['hold', 'drain', 'run'] as const
const behaviorWords = {
  hold: 'It gets no container any more, and is not shut down, whatever happens; only `kill` ends it. A container that it runs goes on.',
  drain: 'It gets no container any more, and is shut down as soon as it is idle.',
  run: 'It gets containers again, and is shut down after `TimeoutIdle`.',
} as const
const behaviorSummaries = { hold: 'Hold a machine', drain: 'Drain a machine', run: 'Let a machine run' } as const

export const behaviorRoute = (behavior: (typeof behaviors)[number]) =>
  createRoute({
    ...{ ...common, method: 'post', path: `${managementRoot}/instances/${behavior}` },
    ...{ operationId: `${behavior}Instance`, summary: behaviorSummaries[behavior] },
    description: behaviorWords[behavior],
    request: { headers: plainHeaders, query: schemas.instanceQuery },
    responses: {
      200: done('the record and the tag of the cloud say so'),
      202: done('the record says so, and holds from now on; the tag, which outlives Redis, follows'),
      ...refusals([...forOperators, ...ofInstance, 'largeBody', 'machineEnds']),
    },
  })

export const instanceKill = createRoute({
  ...{ ...common, method: 'post', path: `${managementRoot}/instances/kill`, operationId: 'killInstance' },
  summary: 'End a machine',
  description:
    'Destroys it now, whatever it runs and whatever holds it. Its container is queued again, or Cancelled, once the machine is gone.',
  request: { headers: plainHeaders, query: schemas.instanceKillQuery },
  responses: { 200: done('it is being shut down'), ...refusals([...forOperators, ...ofInstance, 'largeBody']) },
})
