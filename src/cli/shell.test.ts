import { describe, expect, it } from 'vitest'
import { shell, shellCommand, sshLine } from './shell.ts'

const uuid = 'zzzzz-dz642-000000000000001'
const env = { SKYLAB_URL: 'https://skylab.example.org', SKYLAB_TOKEN: 'hunter2' }
const nowhere = { env, input: process.stdin, output: process.stdout, out: () => {}, err: () => {} }

describe('skylab shell', () => {
  it('begins ssh without the user’s configuration, keys and known hosts, and with no secret on its command line', () => {
    const line = sshLine(shellCommand(['-t', '-L', '80:localhost:8080', uuid, 'echo', '-n', '$HOME'], env))
    expect(line.slice(0, 2)).toEqual(['-F', 'none'])
    expect(line).toEqual(expect.arrayContaining(['-oStrictHostKeyChecking=no', '-oUserKnownHostsFile=/dev/null']))
    expect(line.slice(-4)).toEqual([uuid, 'echo', '-n', '$HOME'])
    expect(line.join(' ')).not.toContain('hunter2')
    expect(line.find(each => each.startsWith('-oProxyCommand='))).toMatch(new RegExp(` shell --proxy ${uuid}$`))
  })

  it('leaves what follows the uuid to the command', () => {
    expect(shellCommand([uuid, '--url', 'x', '--admin'], env)).toMatchObject({
      ...{ words: ['--url', 'x', '--admin'], isAdmin: false },
    })
  })

  it.each([
    ['no uuid', [], env, 'the uuid of a container is expected'],
    ['what is no uuid', ['i-0123'], env, 'the uuid of a container is expected'],
    ['an unknown option', ['--purge', uuid], env, "Unknown option '--purge'"],
    ['a port of another host', ['-L', '80:example.org:80', uuid], env, '-L takes PORT:localhost:PORT'],
    ['an option in place of a port', ['-L', '-oProxyCommand=x', uuid], env, 'ambiguous'],
    ['no address', [uuid], { SKYLAB_TOKEN: 't' }, '--url is missing, and SKYLAB_URL too'],
    ['an address with a password', [uuid], { ...env, SKYLAB_URL: 'https://a:b@c' }, '--url must be an address'],
    [
      'http to another machine',
      [uuid],
      { ...env, SKYLAB_URL: 'http://skylab.example.org' },
      '--url must be an address',
    ],
    ['no token', [uuid], { SKYLAB_URL: env.SKYLAB_URL }, '--token-file is missing'],
    ['a token of two lines', [uuid], { ...env, SKYLAB_TOKEN: 'a\nb' }, 'the token is not one line'],
  ])('refuses %s', async (_, args, environment, problem) => {
    await expect(shell(args, { ...nowhere, env: environment })).rejects.toThrow(problem)
  })
})
