/** Ids of logins and sessions, which only cookies have. Redis has their hashes, so no copy of it opens a session. Pure. */
import { hash, randomBytes } from 'node:crypto'

/** 32 bytes in base64url. The last character has two bits beyond them, which are 0: one id has one text. */
const form = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

/** 32 random bytes. */
export const newId = (): string => randomBytes(32).toString('base64url')

export const isId = (text: string): boolean => form.test(text)

/** The SHA-256 of an id; undefined for text that is no id. */
export const hashOf = (id: string): string | undefined => (isId(id) ? hash('sha256', id, 'hex') : undefined)

export const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)
