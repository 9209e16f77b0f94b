import { describe, expect, it } from 'vitest'
import { chooseMirror } from './python-image.ts'

describe('chooseMirror', () => {
  it('takes the archive that serves the suite of the image', () => {
    expect(chooseMirror('trixie http://b/debian/\nbookworm http://a/debian/\n')).toBe('http://a/debian/')
  })

  it('takes any Debian archive when none serves that suite', () => {
    expect(chooseMirror('\ntrixie http://b/debian/\n')).toBe('http://b/debian/')
  })

  it('names what is missing when apt knows no archive', () => {
    expect(() => chooseMirror('\n')).toThrow(/no Debian archive/)
  })
})
