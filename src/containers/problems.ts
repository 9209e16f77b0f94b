/** The refusals of what people ask about containers and machines. */
import { ApiError, invalid, unavailable } from '../base/errors.ts'

/** The same answer where somebody else has a container of this uuid: nobody learns whether one exists. */
export const noContainer = (): ApiError =>
  new ApiError(404, { msg: 'there is no container of this uuid', type: 'unknown_container', loc: ['path', 'uuid'] })

/** @param words names all types, and what each of them lacks */
export const noTypeFits = (words: string): ApiError =>
  new ApiError(422, { msg: words, type: 'no_instance_type', loc: ['body', 'runtime_constraints'] })

/** Nobody learns whether a tenant exists that he is not in. */
export const noTenant = (): ApiError =>
  new ApiError(422, { msg: 'is not a tenant that you are in', type: 'not_member', loc: ['body', 'tenant'] })

export const whichTenant = (own: readonly string[]): ApiError =>
  new ApiError(422, {
    msg: `is missing, and you are in more than one tenant: ${own.join(', ')}`,
    ...{ type: 'missing', loc: ['body', 'tenant'] },
  })

export const containerEnded = (): ApiError =>
  new ApiError(409, { msg: 'the container has ended', type: 'container_ended' })

/** Each change is kept, as long as the container. */
export const changedOften = (): ApiError =>
  tooManyOfOwner('the priority of this container was changed as often as may be: it can only become 0')

/** Only what has ended is dropped. */
export const containerDropped = (): ApiError =>
  new ApiError(410, {
    msg: 'The container of this Idempotency-Key has ended, and is not kept any more',
    type: 'container_dropped',
    loc: ['header', 'idempotency-key'],
  })

export const outputDropped = (): ApiError =>
  new ApiError(410, { msg: 'the output of this container is not kept any more', type: 'output_dropped' })

export const notRunning = (words: string): ApiError =>
  new ApiError(503, { msg: words, type: 'not_running' }, { 'Retry-After': '5' })

export const isNotRunning = ({ detail }: ApiError): boolean => detail[0]?.type === 'not_running'

export const hasEnded = (): ApiError => new ApiError(410, { msg: 'the container has ended', type: 'container_ended' })

/** Somebody has to run, or to be cancelled, first. */
const fullSeconds = 30

export const queueFull = (of: 'owner' | 'all'): ApiError =>
  of === 'owner'
    ? tooManyOfOwner('as many of your containers wait as may')
    : unavailable('as many containers wait as may', fullSeconds)

export const queueTooLarge = (of: 'owner' | 'all'): ApiError =>
  of === 'owner'
    ? tooManyOfOwner('your containers that wait or run have as many bytes as may be, and no room for this one')
    : unavailable('all containers that wait or run have as many bytes as may be, and no room for this one', fullSeconds)

const tooManyOfOwner = (msg: string): ApiError =>
  new ApiError(429, { msg, type: 'too_many' }, { 'Retry-After': String(fullSeconds) })

export const otherBody = (): ApiError =>
  invalid('The Idempotency-Key was used with another body', 'header', 'idempotency-key')

export const lacksKey = (): ApiError => unavailable('this replica lacks the key that seals containers now', 5)

export const noMachine = (): ApiError =>
  new ApiError(404, { msg: 'there is no such instance', type: 'unknown_instance', loc: ['query', 'instance_id'] })

/** It is never taken back. */
export const machineEnds = (): ApiError =>
  new ApiError(409, { msg: 'the instance is being shut down', type: 'instance_ending' })
