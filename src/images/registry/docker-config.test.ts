import { describe, expect, it } from 'vitest'
import { credentialFor } from './docker-config.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const ada = { auth: base64('ada:secret-of-ada') }
const config = (auths: object) => JSON.stringify({ auths })
const find = (auths: object, registry = 'r.example.org', repository = 'team/lab') =>
  credentialFor(config(auths), registry, repository)
const found = { username: 'ada', password: 'secret-of-ada' }

describe('credentialFor by the form of an entry', () => {
  it.each<[string, object, unknown]>([
    ['user and password together', ada, found],
    ['a password with colons', { auth: base64('ada:a:b') }, { username: 'ada', password: 'a:b' }],
    ['bytes that fill up', { auth: base64('ada:secret-of-ada\0\0') }, found],
    ['user and password apart', { username: 'ada', password: 'secret-of-ada' }, found],
    ['an identity token', { auth: base64('ada:'), identitytoken: 'abc' }, { identityToken: 'abc' }],
    ['nothing, since a program keeps it', {}, undefined],
    ['nulls', { auth: null, username: null, password: null, identitytoken: null }, undefined],
  ])('accepts %s', (_, entry, credential) => {
    expect(find({ 'r.example.org': entry })).toEqual(credential)
  })
})

describe('credentialFor by the key of an entry', () => {
  it.each([
    'r.example.org',
    'R.Example.ORG',
    'https://r.example.org',
    'https://r.example.org/',
    'https://r.example.org/v1/',
    'https://r.example.org/v2/',
    'http://r.example.org',
    'r.example.org/team',
    'r.example.org/team/lab',
    '*.example.org',
    'r*.*.org',
  ])('uses %s for r.example.org/team/lab', key => {
    expect(find({ [key]: ada })).toEqual(found)
  })

  it.each([
    'example.org',
    'q.r.example.org',
    'r.example.org.evil.test',
    'r.example.org:5000',
    'r.example.org/tea',
    'r.example.org/team/lab/more',
    'r.example.org/team/la',
    '*.org',
    '*',
    '*.*.example.org',
    'rXexample.org',
    '',
  ])('does not use %j', key => {
    expect(find({ [key]: ada })).toBeUndefined()
  })

  it('matches hosts with ports', () => {
    expect(find({ '127.0.0.1:5000': ada }, '127.0.0.1:5000')).toEqual(found)
    expect(find({ '127.0.0.1': ada }, '127.0.0.1:5000')).toBeUndefined()
  })

  it.each(['registry.hub.docker.com', 'docker.io', 'index.docker.io', 'registry-1.docker.io'])(
    'matches Docker Hub, configured as %s, by all of its names',
    registry => {
      const keys = ['https://index.docker.io/v1/', 'docker.io', 'registry-1.docker.io', 'registry.hub.docker.com']
      for (const key of keys) expect(find({ [key]: ada }, registry)).toEqual(found)
      expect(find({ 'hub.docker.com': ada }, registry)).toBeUndefined()
    },
  )

  it('prefers the longest path, then a name to a pattern, then an entry with contents', () => {
    const other = { auth: base64('other:x') }
    expect(find({ 'r.example.org': other, 'r.example.org/team': ada })).toEqual(found)
    expect(find({ '*.example.org': other, 'r.example.org': ada })).toEqual(found)
    expect(find({ 'r.example.org': {}, 'https://r.example.org': ada })).toEqual(found)
  })
})

describe('credentialFor with an invalid file', () => {
  it.each(['secret-of-ada', '[]', '"secret-of-ada"', '{"auths": []}', '{"auths": {"secret-of-ada": 1}}'])(
    'refuses %s without quoting it',
    text => {
      const attempt = () => credentialFor(text, 'r.example.org', 'lab')
      expect(attempt).toThrow('the credentials are no Docker config.json')
      expect(attempt).not.toThrow(/secret/)
    },
  )

  it.each(['{}', '{"auths": null}', '{"auths": {}}'])('finds nothing in %s', text => {
    expect(credentialFor(text, 'r.example.org', 'lab')).toBeUndefined()
  })

  it.each(['secret-of-ada', ':secret-of-ada'])('refuses an auth of %j without quoting it', text => {
    const attempt = () => find({ 'r.example.org': { auth: base64(text) } })
    expect(attempt).toThrow('the credentials of r.example.org have no user and password in auth')
  })
})
