import ssh2 from 'ssh2'
import { parsePrivateKey } from '../key.ts'

type KeyType = 'ed25519' | 'ecdsa' | 'rsa'

const bits = { ed25519: {}, ecdsa: { bits: 256 }, rsa: { bits: 2048 } }

/** A new key pair in OpenSSH's form, and the private one as the program has it. */
export function someKey(type: KeyType = 'ed25519') {
  const pair = ssh2.utils.generateKeyPairSync(type as 'ecdsa', bits[type] as { bits: 256 })
  return { private: pair.private, public: pair.public, key: parsePrivateKey(pair.private, 'a key') }
}
