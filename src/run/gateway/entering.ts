/** Joins the way to hosts of apps. */
import { Buckets } from '../../base/buckets.ts'
import { Tries } from '../../gateway/access/tries.ts'
import { codeRate, Entering } from '../../gateway/hosts/entering.ts'
import { triesOfLogins } from '../../gateway/login/enter.ts'
import type { Hosts } from '../../gateway/policy/hosts.ts'
import { CodeStore } from '../../store/apps/codes.ts'
import { SessionStore } from '../../store/apps/sessions.ts'
import type { Basics } from '../basics.ts'
import type { joinAccess } from './access.ts'

export function joinEntering({ config, clock }: Basics, joined: ReturnType<typeof joinAccess>, hosts: Hosts): Entering {
  const { access, routes, connection, keys } = joined
  return new Entering({
    ...{ hosts, access, routes },
    codes: new CodeStore(connection, keys),
    sessions: new SessionStore(connection, keys),
    made: new Buckets(codeRate, clock),
    tries: new Tries(clock, triesOfLogins),
    sessionMs: config.gateway.sessionMinutes * 60_000,
  })
}
