import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hashOf, isHash, newId } from './ids.ts'

describe('hashOf', () => {
  it('is the SHA-256 of the id', () => {
    const id = newId()
    expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(hashOf(id)).toBe(createHash('sha256').update(id).digest('hex'))
    expect(isHash(hashOf(id)!)).toBe(true)
  })

  it('knows one text for each id', () => {
    const id = Buffer.alloc(32, 7).toString('base64url')
    expect(id.at(-1)).toBe('c')
    expect(hashOf(id)).toBeDefined()
    // The same bytes by a lax decoder.
    for (const last of 'def') expect(hashOf(id.slice(0, -1) + last)).toBeUndefined()
  })

  it.each([
    '',
    'a',
    'a'.repeat(44),
    `${'a'.repeat(42)}+`,
    `${'a'.repeat(42)}\n`,
    `${'a'.repeat(43)}\n`,
    'é'.repeat(43),
  ])('refuses %j', text => {
    expect(hashOf(text)).toBeUndefined()
  })
})
