/** Who is asking: the seam behind which identities come from. */
import type { Identity } from '../domain.ts'
import { ApiError } from '../errors.ts'

export interface IdentityProvider {
  /**
   * Who sent a request with these headers.
   * @throws {ApiError} 401 without a token that is known; 503 while the source of identities does not answer
   */
  identify(headers: Headers): Promise<Identity>
}

/** 401: the request has no token, or none that is known. Which of them is not told. */
export function unauthorized(): ApiError {
  return new ApiError(
    401,
    { msg: 'a valid token is required', type: 'unauthorized', loc: ['header', 'authorization'] },
    { 'WWW-Authenticate': 'Bearer' },
  )
}
