/** Limits the contents of a create. Pure. */

import type { CreateRequest } from '../../base/domain.ts'
import { ApiError, type ErrorDetail } from '../../base/errors.ts'
import type { Limits } from '../../config/limits.ts'

type CreateLimits = Pick<
  Limits,
  'maxOptionLength' | 'maxEnvEntries' | 'maxEnvNameLength' | 'maxEnvValueLength' | 'maxEnvBytes'
>

/**
 * Refuses a create that is too large.
 * @throws {ApiError} 422 with an entry for each value that is too long
 */
export function checkCreate(limits: CreateLimits, { options, env }: CreateRequest): void {
  const detail = [...tooLongOptions(limits, options), ...tooLargeEnv(limits, env)]
  if (detail.length > 0) throw new ApiError(422, detail)
}

function tooLongOptions({ maxOptionLength }: CreateLimits, options: CreateRequest['options']): ErrorDetail[] {
  return Object.entries(options)
    .filter(([, value]) => typeof value === 'string' && isLonger(value, maxOptionLength))
    .map(([name]) => tooMuch(`is longer than ${maxOptionLength} characters`, 'options', name))
}

function tooLargeEnv(limits: CreateLimits, env: CreateRequest['env']): ErrorDetail[] {
  const entries = Object.entries(env)
  if (entries.length > limits.maxEnvEntries) return [tooMuch(`has more than ${limits.maxEnvEntries} variables`, 'env')]
  const bytes = entries.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0)
  if (bytes > limits.maxEnvBytes) return [tooMuch(`is larger than ${limits.maxEnvBytes} bytes`, 'env')]
  return entries.flatMap(([name, value]) => {
    if (isLonger(name, limits.maxEnvNameLength)) {
      return [tooMuch(`has a name longer than ${limits.maxEnvNameLength} characters`, 'env', name)]
    }
    if (!isLonger(value, limits.maxEnvValueLength)) return []
    return [tooMuch(`is longer than ${limits.maxEnvValueLength} characters`, 'env', name)]
  })
}

/** In characters as JSON Schema counts them; JavaScript counts some twice. */
function isLonger(text: string, maxLength: number): boolean {
  return text.length > maxLength && (text.length > 2 * maxLength || [...text].length > maxLength)
}

const tooMuch = (msg: string, ...loc: string[]): ErrorDetail => ({ msg, type: 'too_long', loc: ['body', ...loc] })
