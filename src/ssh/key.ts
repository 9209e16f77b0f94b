/** The private key with which Skylab logs in to its machines. */
import { readFile } from 'node:fs/promises'
import ssh2 from 'ssh2'
import type { PrivateKey } from './machine.ts'

/** A key of ssh2. Signatures by SHA-1 are refused: servers without better ones are too old. */
export class LoginKey implements PrivateKey {
  readonly publicKey: string
  readonly #key: ssh2.ParsedKey

  constructor(key: ssh2.ParsedKey) {
    this.publicKey = `${key.type} ${key.getPublicSSH().toString('base64')}`
    const sign = (data: Buffer, algorithm?: string) =>
      key.type === 'ssh-rsa' && !/^sha(256|512)$/.test(algorithm ?? '')
        ? new Error('the SSH server takes RSA keys only with SHA-1')
        : key.sign(data, algorithm)
    this.#key = Object.create(key, { sign: { value: sign } })
  }

  /** For ssh2 alone. */
  static forLogin(key: PrivateKey): ssh2.ParsedKey {
    if (!(key instanceof LoginKey)) throw new Error('a private key that readPrivateKey did not read')
    return key.#key
  }
}

/** Reads `DispatchPrivateKey`. @throws an Error with the file's path, and nothing of its content */
export async function readPrivateKey(file: string): Promise<PrivateKey> {
  return parsePrivateKey(await readFile(file), file)
}

/** @param place for messages */
export function parsePrivateKey(content: Buffer | string, place: string): PrivateKey {
  const parsed = parse(content)
  // The reasons of ssh2 may quote the content.
  if (parsed instanceof Error) {
    const isEncrypted = /encrypted|passphrase/i.test(parsed.message)
    const why = isEncrypted ? 'is encrypted; Skylab has no passphrase for it' : 'is no private key of SSH'
    throw new Error(`${place} ${why}`)
  }
  if (!parsed.isPrivateKey()) throw new Error(`${place} is a public key; a private one is needed`)
  if (!/^(ssh-ed25519|ecdsa-sha2-nistp\d+|ssh-rsa)$/.test(parsed.type)) {
    throw new Error(`${place} is a key of type ${parsed.type}; Ed25519, ECDSA or RSA is needed`)
  }
  return new LoginKey(parsed)
}

function parse(content: Buffer | string): ssh2.ParsedKey | Error {
  const parsed = ssh2.utils.parseKey(content)
  // Of a file of several keys, the first one counts.
  return Array.isArray(parsed) ? parsed[0]! : parsed
}
