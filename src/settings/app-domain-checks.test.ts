import { describe, expect, it } from 'vitest'
import { appDomainProblems, appDomainWarnings } from './app-domain-checks.ts'

const publicUrl = 'https://platform.example.org'

describe('appDomainProblems', () => {
  it.each([
    {},
    { appDomain: 'apps.example.net' },
    { appDomain: 'apps.example.org' },
    { appDomain: 'apps.platform.example.org' },
    { appDomain: 'tform.example.org' },
    { appDomain: 'apps.localhost', publicUrl: 'http://127.0.0.1:8080' },
    { appDomain: 'localhost', publicUrl: 'http://127.0.0.1:8080' },
    { appDomain: 'apps.example.net', publicUrl: 'https://[::1]' },
  ])('has none when the addresses are %j', addresses => {
    expect(appDomainProblems('gateway', { publicUrl, ...addresses })).toEqual([])
  })

  it.each([
    [{ publicUrl: undefined, appDomain: 'apps.example.net' }, 'gateway.appDomain: needs gateway.publicUrl'],
    [{ appDomain: '127.0.0.1' }, 'gateway.appDomain: no app can have a host below it'],
    ...['platform.example.org', 'example.org', 'org'].map((appDomain): [object, string] => [
      { appDomain },
      'gateway.appDomain: gateway.publicUrl is at this domain or below it, so an app could have its host',
    ]),
    [
      { appDomain: 'apps.example.net', publicUrl: 'http://127.0.0.1' },
      'gateway.appDomain: is not below localhost, and gateway.publicUrl is http://: browsers keep no cookie there',
    ],
    [
      { appDomain: 'localhost', publicUrl: 'http://localhost' },
      'gateway.appDomain: gateway.publicUrl is at this domain or below it, so an app could have its host',
    ],
  ])('has one when the addresses are %j', (addresses, problem) => {
    expect(appDomainProblems('gateway', { publicUrl, ...addresses })).toEqual([problem])
  })
})

describe('appDomainWarnings', () => {
  it.each(['apps.example.net', 'example.net', 'apps.org'])('has none when the domain is %s', appDomain => {
    expect(appDomainWarnings('apps', { publicUrl, appDomain })).toEqual([])
  })

  it.each([
    ['apps.example.org', 'example.org'],
    ['apps.platform.example.org', 'platform.example.org'],
  ])('names what both share when the domain is %s', (appDomain, shared) => {
    expect(appDomainWarnings('apps', { publicUrl, appDomain })).toEqual([
      expect.stringContaining(`apps.appDomain: is below ${shared}, as is apps.publicUrl`),
    ])
  })
})
