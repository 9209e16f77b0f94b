import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import ssh2 from 'ssh2'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parsePrivateKey, readPrivateKey } from './key.ts'
import { newKey } from './new-key.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-keys-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const made = (name: string, ...options: string[]) => {
  const file = join(folder, name)
  execFileSync('ssh-keygen', ['-q', '-C', '', '-f', file, ...options])
  return file
}

describe('readPrivateKey', () => {
  test.each([['ed25519'], ['ecdsa'], ['rsa', '-m', 'PEM']])(
    'takes a key of ssh-keygen -t %s',
    async (type, ...more) => {
      const file = made(`of-${type}`, '-t', type, '-N', '', ...more)
      const { publicKey } = await readPrivateKey(file)
      expect(publicKey).toBe(readFileSync(`${file}.pub`, 'utf8').trim())
    },
  )

  test('shows nothing of a key in a log', async () => {
    const file = made('hidden', '-t', 'ed25519', '-N', '')
    const key = await readPrivateKey(file)
    const { publicKey } = key
    expect(JSON.parse(JSON.stringify(key))).toEqual({ publicKey })
    expect(inspect(key, { depth: 9, showHidden: true })).toMatch(/^LoginKey \{\s+publicKey: 'ssh-ed25519 \S+'\s+\}$/)
  })

  test('rejects in words, without the content', async () => {
    const encrypted = made('encrypted', '-t', 'ed25519', '-N', 'passphrase')
    await expect(readPrivateKey(encrypted)).rejects.toThrow(`${encrypted} is encrypted`)
    const open = made('open', '-t', 'ed25519', '-N', '')
    await expect(readPrivateKey(`${open}.pub`)).rejects.toThrow('is a public key; a private one is needed')
    const text = join(folder, 'text')
    writeFileSync(text, 'what-nobody-may-see')
    const error = await readPrivateKey(text).catch(reason => reason)
    expect(error.message).toBe(`${text} is no private key of SSH`)
    const cut = readFileSync(open, 'utf8').replace(/.{9}\n-----END/, '\n-----END')
    expect(() => parsePrivateKey(cut, 'it')).toThrow(/^it is no private key of SSH$/)
  })
})

test('newKey makes pairs that can be read, whatever their first byte', () => {
  for (let i = 0; i < 1500; i += 1) expect(ssh2.utils.parseKey(newKey().private)).not.toBeInstanceOf(Error)
})
