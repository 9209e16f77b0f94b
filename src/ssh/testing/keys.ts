import { parsePrivateKey } from '../key.ts'
import { newKey } from '../new-key.ts'

/** A new key pair, and the private one as the program has it. */
export function someKey(type?: Parameters<typeof newKey>[0]) {
  const pair = newKey(type)
  return { ...pair, key: parsePrivateKey(pair.private, 'a key') }
}
