import { describe, expect, it } from 'vitest'
import { ApiError } from '../base/errors.ts'
import { homeOf, isWithin, pathFor } from './paths.ts'

const usual = { homePrefix: '/home', homeScheme: 'username' as const }
const byInitial = { homePrefix: '/home', homeScheme: 'initialThenUsername' as const }

describe('homeOf', () => {
  it('joins the prefix and the user’s name', () => {
    expect(homeOf(usual, 'ada')).toBe('/home/ada')
    expect(homeOf({ ...usual, homePrefix: '/data/homes//' }, 'Ada Lovelace')).toBe('/data/homes/Ada Lovelace')
  })

  it('puts the first letter between them when configured so', () => {
    expect(homeOf(byInitial, 'ada')).toBe('/home/a/ada')
    expect(homeOf(byInitial, '𝒜da')).toBe('/home/𝒜/𝒜da')
  })
})

describe('pathFor', () => {
  it('inserts the name literally', () => {
    expect(pathFor('projects/{username}/x-{username}', 'ada')).toBe('projects/ada/x-ada')
    expect(pathFor('{username}', '$& $1 {username}')).toBe('$& $1 {username}')
    expect(pathFor('/software/', 'ada')).toBe('/software')
  })

  it.each(['', '.', '..', 'a/b', '../b', '/'])('refuses the name %j', username => {
    const refused = expect.objectContaining({ status: 403, message: expect.stringContaining('part of a path') })
    for (const fill of [
      () => pathFor('projects/{username}', username),
      () => homeOf(usual, username),
      () => homeOf(byInitial, username),
    ]) {
      expect(fill).toThrow(ApiError)
      expect(fill).toThrow(refused)
    }
  })

  it('refuses a first letter that is not a folder name', () => {
    expect(() => homeOf(byInitial, '.ada')).toThrow('The user name ".ada" cannot be part of a path')
    expect(homeOf(usual, '.ada')).toBe('/home/.ada')
  })
})

describe('isWithin', () => {
  it.each([
    ['/home/ada', '/home', true],
    ['/home/ada', '/home/', true],
    ['/home/ada', '/home/ada/', true],
    ['/home/ada', '/', true],
    ['/home/ada', '/home/ad', false],
    ['/home', '/home/ada', false],
  ])('%s in %s is %s', (path, folder, answer) => {
    expect(isWithin(path, folder)).toBe(answer)
  })
})
