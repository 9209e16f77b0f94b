/** The refusals of what people ask about apps. */
import { ApiError, invalid } from '../base/errors.ts'

export const noApp = (): ApiError =>
  new ApiError(404, { msg: 'there is no app of this id', type: 'unknown_app', loc: ['path', 'id'] })

export const notMember = (group: string, ...loc: string[]): ApiError =>
  new ApiError(403, {
    msg: `you are not a member of the group ${group}`,
    type: 'forbidden',
    ...(loc.length > 0 && { loc }),
  })

export const noTemplate = (): ApiError =>
  new ApiError(404, { msg: 'there is no template of this id', type: 'unknown_template', loc: ['path', 'id'] })

/** The same answer where a pod of this name is no app's: nobody learns whether one exists. */
export const noPod = (): ApiError =>
  new ApiError(404, { msg: 'no app has a pod of this name', type: 'unknown_pod', loc: ['path', 'pod'] })

export const severalPods = (): ApiError =>
  new ApiError(409, { msg: 'apps of several groups have a pod of this name', type: 'conflict', loc: ['path', 'pod'] })

/** @param what an app or a template */
export const changed = (what: string): ApiError =>
  new ApiError(412, {
    msg: `the ${what} has another version than If-Match names`,
    type: 'changed',
    loc: ['header', 'if-match'],
  })

export const taken = (secret: string): ApiError =>
  new ApiError(409, { msg: `a Secret ${secret} is there already: send the change again`, type: 'conflict' })

export const refusedByServer = (words: string): ApiError =>
  new ApiError(422, { msg: `the API server refuses it: ${words}`, type: 'invalid', loc: ['body'] })

/** The owner of the other app is not disclosed. */
export const idTaken = (): ApiError =>
  new ApiError(409, { msg: 'another app has this id', type: 'conflict', loc: ['body', 'id'] })

export const templateTaken = (): ApiError =>
  new ApiError(409, { msg: 'another template has this id', type: 'conflict', loc: ['body', 'id'] })

export const noInstanceType = (types: readonly string[]): ApiError =>
  invalid(`there is no such instance type, only ${types.join(', ')}`, 'body', 'instanceType')
