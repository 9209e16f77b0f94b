/** Reads the errors of openid-client: in its own words they may quote tokens. */
import * as openid from 'openid-client'

/** Errors of an issuer that cannot answer now. */
const away = new Set(['server_error', 'temporarily_unavailable'])
/** Errors of an issuer about the gateway, and not about a login. */
const ofUs = new Set(['invalid_client', 'unauthorized_client', 'invalid_request', 'unsupported_grant_type'])

/** In place of a word of OAuth. */
const challenge = 'challenge'

/** The word of OAuth in an error answer. */
export function saidBy(error: unknown): string | undefined {
  // Such as the answer to a wrong secret of ours.
  if (error instanceof openid.WWWAuthenticateChallengeError) return error.status === 401 ? 'invalid_client' : challenge
  const isAnswer = error instanceof openid.ResponseBodyError || error instanceof openid.AuthorizationResponseError
  return isAnswer && /^[\w.-]{1,64}$/.test(error.error) ? error.error : undefined
}

export const isAway = (said: string): boolean => away.has(said)

/** Whether a word is of the person: neither of the gateway, nor of the issuer itself. */
export const isRefusal = (said: string): boolean => !ofUs.has(said) && !away.has(said) && said !== challenge

/** The status of an answer that says nothing about a person. */
export function statusOf(error: unknown): number | undefined {
  if (error instanceof openid.WWWAuthenticateChallengeError) return error.status
  const answer = causesOf(error).at(-1)
  const cause = answer instanceof Error ? answer.cause : undefined
  return cause instanceof Response ? cause.status : undefined
}

/** An error, and what has caused it. */
export function causesOf(error: unknown): unknown[] {
  const found: unknown[] = []
  for (let each = error; each instanceof Error && found.length < 10; each = each.cause) found.push(each)
  return found
}
