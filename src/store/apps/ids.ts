/** Ids of logins and sessions, which only cookies have. Redis has their hashes, so no copy of it opens a session. Pure. */
import { createHash, randomBytes } from 'node:crypto'

const form = /^[A-Za-z0-9_-]{43}$/

/** 32 random bytes. */
export const newId = (): string => randomBytes(32).toString('base64url')

/** The SHA-256 of an id; undefined for text that is no id. */
export function hashOf(id: string): string | undefined {
  if (!form.test(id)) return undefined
  // The last character has two bits beyond the bytes: one id has one text.
  if (Buffer.from(id, 'base64url').toString('base64url') !== id) return undefined
  return createHash('sha256').update(id).digest('hex')
}

export const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)
