/** The route of an app, as gateways need it. Pure. */

import { type Addresses, appOrigin } from '../base/app-address.ts'
import type { AppPhase, AppRoute, Audience } from '../base/app-route.ts'
import { asObject, asText } from '../base/json.ts'
import type { Fact } from '../reconcile/types.ts'
import { appObjectName, appPrefix, isAppId } from './names.ts'
import {
  annotationsOf,
  type CheckedApp,
  createdMsOf,
  displayNameOf,
  generationOf,
  groupNameOf,
  scopeOf,
} from './spec.ts'
import { appAnnotations } from './words.ts'

export interface RouteFacts {
  readonly app: Fact
  readonly checked: CheckedApp
  /** The app's own Service; not a stranger's of its name. */
  readonly service: Fact | undefined
  readonly phase: AppPhase
  readonly message: string
}

const audiences = {
  group: { kind: 'members' },
  primehub: { kind: 'loggedIn' },
  public: { kind: 'public' },
} as const satisfies Record<string, Audience>

/** @returns undefined for what can have no route: a name that is no id, or one that an older app has */
export function appRoute({ app, checked, service, phase, message }: RouteFacts): AppRoute | undefined {
  const { ref, uid } = app
  const { spec, refusal } = checked
  if (!isAppId(ref.name) || refusal?.reason === 'Conflict') return undefined
  const annotations = annotationsOf(app)
  const ip = clusterIpOf(service)
  // Without a spec nothing is known but that nobody may be let in by more than membership.
  const audience: Audience = spec ? audiences[scopeOf(app)] : { kind: 'members' }
  return {
    ...{ id: ref.name, uid, createdMs: createdMsOf(app), generation: generationOf(app) },
    ...{ namespace: ref.namespace ?? '', displayName: cut(displayNameOf(app), 253) },
    ...{ group: cut(groupNameOf(app), 253), audience, phase, message: cut(message, 1_000) },
    ...(spec?.http && ip !== undefined && { address: { ip, port: spec.http.port } }),
    host: `${appObjectName(ref.name)}.${ref.namespace ?? ''}:${spec?.http?.port ?? 80}`,
    rewrite: spec?.rewrite ?? false,
    passHost: annotations[appAnnotations.passHost] === 'true',
    passAuthorization: annotations[appAnnotations.passAuthorization] === 'true',
  }
}

/** Half of a character that was cut in two fits into no table. */
const cut = (text: string, length: number): string => text.slice(0, length).toWellFormed()

function clusterIpOf(service: Fact | undefined): string | undefined {
  const ip = asText(asObject(service?.owned.spec).clusterIP)
  return ip === '' || ip === 'None' ? undefined : ip
}

/** The public address of an app. */
export const appUrl = (id: string, addresses: Addresses): string | undefined =>
  addresses.publicUrl === undefined ? undefined : `${appOrigin(id, addresses)}${appPrefix(id)}/`
