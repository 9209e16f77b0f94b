import { generateKeyPairSync } from 'node:crypto'
import ssh2 from 'ssh2'
import { describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { newKey } from '../ssh/new-key.ts'
import { readDispatchFiles } from './dispatch-files.ts'

const keys = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
})
const whole: Readonly<Record<string, string>> = {
  ...{ token: 'a'.repeat(32), old: 'b'.repeat(32), management: 'c'.repeat(16), key: keys.privateKey },
}

async function read(files: Readonly<Record<string, string>>) {
  const { dispatch } = configSchema.parse({
    dispatch: {
      ...{ clusterId: 'zzzzz', tokenFile: 'token', previousTokenFiles: ['old'], managementTokenFile: 'management' },
      Containers: { DispatchPrivateKey: 'key' },
      CloudVMs: { Driver: 'loopback', DriverParameters: { Directory: '/nowhere' } },
    },
  })
  const problems: string[] = []
  const text = async (_: string, path: string | undefined) => ({ ...whole, ...files })[path ?? '']
  const found = await readDispatchFiles(
    { dispatch },
    { text, secret: text, present: async (_, path) => path, authorities: text },
    problems,
  )
  return { found, problems }
}

describe('readDispatchFiles', () => {
  it('reads all secrets', async () => {
    expect(await read({})).toEqual({
      problems: [],
      found: {
        ...{ token: whole.token, previousTokens: [whole.old], managementToken: whole.management },
        ...{ privateKey: whole.key, runnerBinary: '/proc/self/exe', driverParameters: { Directory: '/nowhere' } },
      },
    })
  })

  it.each(['ed25519', 'ecdsa'] as const)("takes a key of OpenSSH's form when it is %s", async kind => {
    const { private: key } = newKey(kind)
    expect((await read({ key })).problems).toEqual([])
  })

  it.each([
    [{ token: 'short' }, 'dispatch.tokenFile: must be 32 to 512 printable characters without spaces'],
    [{ old: whole.token! }, 'dispatch.previousTokenFiles.0: is the same secret as dispatch.tokenFile'],
    [{ management: whole.token! }, 'dispatch.managementTokenFile: is the same secret as dispatch.tokenFile'],
    [{ management: 'a b' }, 'dispatch.managementTokenFile: must be 16 to 512 printable characters without spaces'],
    [{ key: 'nothing' }, 'dispatch.Containers.DispatchPrivateKey: the file has no private key that SSH knows'],
    [{ key: newKey().public }, 'dispatch.Containers.DispatchPrivateKey: the file has a public key'],
    [
      { key: ssh2.utils.generateKeyPairSync('ed25519', { passphrase: 'x', cipher: 'aes256-cbc', rounds: 1 }).private },
      'dispatch.Containers.DispatchPrivateKey: the file has a key with a passphrase',
    ],
  ])('has a problem when the files are %j', async (files, problem) => {
    expect((await read(files)).problems).toEqual([problem])
  })
})
