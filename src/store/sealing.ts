/** Seals plans, so that reading Redis reveals no token. AES-256-GCM, bound to the subject and the acceptance. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { NeedsSomeone } from '../base/errors.ts'

/** The ids of a replica's keys as it publishes them in Redis, with their times. */
export interface SealingKeys {
  /** The value of `Sealer.ids`. */
  readonly ids: string
  /** How long the named key is remembered after the last replica that has it is gone. */
  readonly keepMs: number
  /** How long no replica must have had the named key first before another one names its own. */
  readonly idleMs: number
}

interface Key {
  readonly id: string
  readonly secret: KeyObject
  /** Derived from `secret`, each only for MACs of this purpose. */
  readonly macs: Readonly<Record<MacPurpose, KeyObject>>
}

/** A MAC proves that we wrote a lab's record, or that we gave a lab its `activity-token`. */
export type MacPurpose = 'record' | 'activity'

/** `unknown`: no MAC at all, or one by a key that this replica does not have. */
export type MacVerdict = 'right' | 'wrong' | 'unknown'

const macInfos: Readonly<Record<MacPurpose, string>> = {
  record: 'skylab record mac v1',
  activity: 'skylab activity token v1',
}

export class Sealer {
  readonly #keys: readonly Key[]

  /** The first key makes MACs, and seals unless Redis names another one. All of them open. Each has 32 bytes. */
  constructor(keys: readonly Buffer[]) {
    if (keys.length === 0) throw new NeedsSomeone('no sealing key')
    this.#keys = keys.map(bytes => ({
      secret: createSecretKey(bytes),
      macs: { record: macKey(bytes, 'record'), activity: macKey(bytes, 'activity') },
      id: createHash('sha256').update(bytes).digest('hex').slice(0, 12),
    }))
  }

  /** Ids of the keys in their order, separated by spaces. They reveal nothing of the keys. */
  get ids(): string {
    return this.#keys.map(({ id }) => id).join(' ')
  }

  /**
   * Seals `text` for one subject and one acceptance. It opens only for these.
   * @param name as `sealedName` gives it
   * @param keyId one of `ids`; default: the first
   */
  seal(text: string, name: string, nonce: string, keyId = this.#keys[0]!.id): string {
    const key = this.#keys.find(candidate => candidate.id === keyId)
    if (!key) throw new NeedsSomeone('this replica does not have the key that seals')
    const { id, secret } = key
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', secret, iv).setAAD(bound(name, nonce))
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return ['v1', id, ...[iv, cipher.getAuthTag(), sealed].map(part => part.toString('base64url'))].join('.')
  }

  /** @throws {NeedsSomeone} when none of our keys opens it, or it was sealed for another subject or acceptance */
  open(sealed: string, name: string, nonce: string): string {
    const [version, id, iv, tag, text] = sealed.split('.')
    const key = this.#keys.find(candidate => candidate.id === id)
    if (version !== 'v1' || !key)
      throw new NeedsSomeone('the plan was sealed with a key that this replica does not have')
    try {
      const part = (encoded: string | undefined) => Buffer.from(encoded ?? '', 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key.secret, part(iv), { authTagLength: 16 })
      decipher.setAAD(bound(name, nonce)).setAuthTag(part(tag))
      return decipher.update(part(text), undefined, 'utf8') + decipher.final('utf8')
    } catch (cause) {
      throw new NeedsSomeone('the plan does not open: it was changed, or sealed for another operation', { cause })
    }
  }

  /** A MAC over these texts, in this order: `<key id>.<base64url>`. */
  mac(texts: readonly string[], purpose: MacPurpose = 'record'): string {
    const key = this.#keys[0]!
    return `${key.id}.${macOf(key, texts, purpose).toString('base64url')}`
  }

  checkMac(texts: readonly string[], mac: string | undefined, purpose: MacPurpose = 'record'): MacVerdict {
    const [id, encoded] = (mac ?? '').split('.')
    const key = this.#keys.find(candidate => candidate.id === id)
    if (!key) return 'unknown'
    const expected = macOf(key, texts, purpose)
    const bytes = Buffer.from(encoded ?? '', 'base64url')
    return bytes.length === expected.length && timingSafeEqual(bytes, expected) ? 'right' : 'wrong'
  }
}

const bound = (name: string, nonce: string) => Buffer.from(`${name}\n${nonce}`, 'utf8')

const macKey = (bytes: Buffer, purpose: MacPurpose): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', bytes, Buffer.alloc(0), macInfos[purpose], 32)))

/** JSON is unambiguous: no part of a text can be moved to its neighbour with the same MAC. */
const macOf = ({ macs }: Key, texts: readonly string[], purpose: MacPurpose): Buffer =>
  createHmac('sha256', macs[purpose]).update(JSON.stringify(texts), 'utf8').digest()
