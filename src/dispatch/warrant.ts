/**
 * Seals the right to run a container. After a loss of Redis the list of a machine is believed by this seal alone: without the
 * installation's token nobody can invent an owner or a run. Pure.
 */

import { createHmac } from 'node:crypto'
import { canonical } from '../base/canonical.ts'
import { parseJson } from '../base/json.ts'
import type { ContainerView } from './container.ts'
import type { Warrant } from './protocol.ts'
import { isSame, keyFor } from './tags.ts'
import type { Need } from './types.ts'

/** The part of a container's record that its machine does not need. The machine keeps it in the seal, and does not read it. */
export interface About {
  readonly view: ContainerView
  readonly shape: { readonly need: Need; readonly tenant: string; readonly supervisor: boolean }
  readonly priority: number
}

type Unsealed = Omit<Warrant, 'seal'>

/** The seal has what it is about, and its HMAC over that, uuid, run, owner and spec. */
export function warrantOf(token: string, unsealed: Unsealed, about: About): Warrant {
  const text = Buffer.from(JSON.stringify(about)).toString('base64url')
  return { ...unsealed, seal: `${text}.${macOf(token, unsealed, text)}` }
}

/**
 * @param tokens the present one, and those before
 * @returns undefined where none of them has sealed it
 */
export function aboutOf(tokens: readonly string[], { seal, uuid, run, owner, spec }: Warrant): About | undefined {
  const [text = '', mac = ''] = seal.split('.')
  // Each is tried, whichever fits.
  const isOurs = tokens.map(token => isSame(mac, macOf(token, { uuid, run, owner, spec }, text))).includes(true)
  return isOurs ? (parseJson(Buffer.from(text, 'base64url').toString()) as unknown as About) : undefined
}

const macOf = (token: string, { uuid, run, owner, spec }: Unsealed, about: string): string =>
  createHmac('sha256', keyFor(token, 'warrant')).update(canonical({ uuid, run, owner, spec, about })).digest('hex')
