import ssh2 from 'ssh2'

const sizes = { ed25519: {}, ecdsa: { bits: 256 }, rsa: { bits: 2048 } }

/** A new key pair in OpenSSH's form. */
export function newKey(type: keyof typeof sizes = 'ed25519'): { readonly private: string; readonly public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync(type as 'ecdsa', sizes[type] as { bits: 256 })
    // ssh2 1.17 drops a zero at the beginning of a public key of Ed25519: one pair of 256 cannot be read, by nobody.
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair
  }
}
