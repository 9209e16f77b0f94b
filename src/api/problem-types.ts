/** The words by which programs tell errors apart. A release may add some; none changes its meaning. */
export const problemTypes = [
  'claim_unusable',
  'duplicate_key',
  'forbidden',
  'internal',
  'invalid',
  'lab_exists',
  'lab_terminating',
  'malformed',
  'method_not_allowed',
  'misconfigured',
  'missing',
  'not_found',
  'not_json',
  'other_user',
  'scope_missing',
  'too_deep',
  'too_large',
  'too_long',
  'too_many',
  'too_often',
  'unauthorized',
  'unavailable',
  'unknown_key',
  'unknown_user',
] as const

export type ProblemType = (typeof problemTypes)[number]
