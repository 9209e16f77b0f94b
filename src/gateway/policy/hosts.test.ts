import { describe, expect, it } from 'vitest'
import { hostsOf, wayOf } from './hosts.ts'
import { readTarget } from './target.ts'

const publicUrl = 'https://platform.example.org'
const appDomain = 'apps.example.net'
const split = hostsOf({ publicUrl, appDomain })

describe('hostsOf', () => {
  it('knows the platform alone when apps have no domain', () => {
    const hosts = hostsOf({ publicUrl })
    expect(hosts.areSplit).toBe(false)
    expect(hosts.of('platform.example.org')).toEqual({ site: hosts.platform })
    expect(hosts.of('mlflow.apps.example.net')).toBeUndefined()
    expect(hosts.ofApp('mlflow')).toBe(hosts.platform)
  })

  it.each(['mlflow.apps.example.net', 'MLflow.Apps.example.net', 'mlflow.apps.example.net:443'])(
    'knows the app of the host %s',
    host => {
      expect(split.of(host)).toEqual({
        appId: 'mlflow',
        site: { origin: 'https://mlflow.apps.example.net', host: 'mlflow.apps.example.net', proto: 'https' },
      })
    },
  )

  it.each([
    ...['apps.example.net', 'a.b.apps.example.net', '.apps.example.net', 'x', '', 'mlflow', 'mlflow.', '10.0.0.7'],
    ...['mlflow.apps.example.net.', 'mlflow.apps.example.net:80', 'mlflow.apps.example.net:8443', 'mlflow.example.net'],
    ...['mlflow.apps.example.net.evil.org', 'mlflowapps.example.net', '1a.apps.example.net', 'a-.apps.example.net'],
    ...['a_b.apps.example.net', `${'a'.repeat(51)}.apps.example.net`, 'mlflow.platform.example.org', '[::1]'],
  ])('knows nobody at the host %j', host => {
    expect(split.of(host)).toBeUndefined()
  })

  it('knows an app whose name no browser takes for a host', () => {
    expect(split.of('xn--a.apps.example.net')).toMatchObject({ appId: 'xn--a' })
  })

  it('gives hosts of apps the scheme and the port of the platform', () => {
    const hosts = hostsOf({ publicUrl: 'http://127.0.0.1:8080', appDomain: 'apps.localhost' })
    expect(hosts.ofApp('a')).toEqual({
      origin: 'http://a.apps.localhost:8080',
      host: 'a.apps.localhost:8080',
      proto: 'http',
    })
    expect(hosts.of('a.apps.localhost:8080')).toMatchObject({ appId: 'a' })
    expect(hosts.of('a.apps.localhost')).toBeUndefined()
    expect(hosts.of('127.0.0.1:8080')).toEqual({ site: hosts.platform })
  })
})

describe('wayOf', () => {
  const atPlatform = split.of('platform.example.org')!
  const atApp = split.of('mlflow.apps.example.net')!
  const way = (path: string, place: typeof atApp) => {
    const target = readTarget(path)
    if (target.kind === 'refused') throw new Error(target.reason)
    return wayOf(target, place)
  }

  it.each([
    ['/console/apps/mlflow/x', 'app', 'here'],
    ['/console/apps/mlflow', 'app', 'here'],
    ['/console/apps/mlflo/', 'app', 'misdirected'],
    ['/console/apps/mlflow-2/', 'app', 'misdirected'],
    ['/console/login', 'here', 'unknown'],
    ['/console/logout', 'here', 'unknown'],
    ['/console/callback', 'here', 'unknown'],
    ['/console/start/mlflow', 'here', 'unknown'],
    ['/console/enter/mlflow?nonce=x', 'here', 'unknown'],
    ['/console/enter?code=x', 'unknown', 'here'],
  ])('of %s is %s at the platform, and %s at an app', (path, platform, app) => {
    expect([way(path, atPlatform), way(path, atApp)]).toEqual([platform, app])
  })
})
