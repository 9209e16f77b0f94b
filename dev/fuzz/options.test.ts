import { describe, expect, it } from 'vitest'
import { UsageError } from '../process/program.ts'
import { parseFuzzOptions } from './options.ts'

describe('parseFuzzOptions', () => {
  it('has defaults when no option is given', () => {
    expect(parseFuzzOptions([])).toEqual({
      ...{ tenants: false, apps: false, dispatch: false, idle: false },
      ...{ seconds: 60, seed: undefined, replicas: 3, users: 20 },
    })
  })

  it('takes the API of tenants, which has people of its own', () => {
    expect(parseFuzzOptions(['--tenants'])).toMatchObject({ tenants: true, users: 3 })
    expect(() => parseFuzzOptions(['--tenants', '--users', '9'])).toThrow('--users: tenants have three people')
  })

  it('takes the routes of activity, which are those of labs', () => {
    expect(parseFuzzOptions(['--idle'])).toMatchObject({ idle: true, users: 20 })
    expect(() => parseFuzzOptions(['--idle', '--tenants'])).toThrow('--idle: a process that serves tenants has no labs')
  })

  it('takes the API of apps, which no other process has', () => {
    expect(parseFuzzOptions(['--apps'])).toMatchObject({ apps: true, users: 20 })
    expect(() => parseFuzzOptions(['--apps', '--idle'])).toThrow('--apps: a process that serves apps')
  })

  it('takes the API of containers, which no other process has', () => {
    expect(parseFuzzOptions(['--dispatch'])).toMatchObject({ dispatch: true, users: 20 })
    expect(() => parseFuzzOptions(['--dispatch', '--idle'])).toThrow('--dispatch: a process for containers')
  })

  it('takes fractions of minutes, and a seed', () => {
    expect(parseFuzzOptions(['--minutes', '0.5', '--seed', '7'])).toMatchObject({ seconds: 30, seed: 7 })
  })

  it.each([['--minutes', '0'], ['--minutes', 'x'], ['--seed', '-1'], ['--users', '1'], ['--what'], ['more']])(
    'refuses %s %s',
    (...args) => {
      expect(() => parseFuzzOptions(args)).toThrow(UsageError)
    },
  )
})
