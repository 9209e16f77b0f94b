/** Joins a gateway's access to Redis, and what judges by it. */
import { type AccessReport, createAccess } from '../../gateway/access/parts.ts'
import type { MemberTable, RouteTable } from '../../gateway/access/tables.ts'
import type { IdentityProvider } from '../../identity/provider.ts'
import type { SourceOptions } from '../../identity/source.ts'
import { LoginStore } from '../../store/apps/logins.ts'
import { RecheckStore } from '../../store/apps/rechecks.ts'
import { AppsBell } from '../../store/apps/rings.ts'
import { Keys } from '../../store/keys.ts'
import type { GatewayMetrics } from '../../telemetry/gateway-metrics.ts'
import type { Basics } from '../basics.ts'
import { connect } from '../connect.ts'
import type { Part } from '../part.ts'
import { createLoginSource } from './login.ts'

export function joinAccess(
  basics: Basics,
  identity: Pick<IdentityProvider, 'identify'>,
  metrics: GatewayMetrics,
  onRequest: SourceOptions['onRequest'],
) {
  const { config, clock, log } = basics
  const { loginHours, sessionMinutes } = config.gateway
  const connection = connect(basics, true)
  const keys = new Keys(config.redis.keyPrefix)
  const bell = new AppsBell(connection, keys, clock, err => log.error({ err }, 'a listener of the bell failed'))
  const source = createLoginSource(basics, {
    ...{ metrics, onRequest, logins: new LoginStore(connection, keys), rechecks: new RecheckStore(connection, keys) },
  })
  const { words } = source
  const parts = createAccess({
    ...{ connection, keys, bell, clock, log, identity, words, names: config.tenants.rest ?? {} },
    ...{ loginMs: loginHours * 3_600_000, sessionMs: sessionMinutes * 60_000, report: reportTo(metrics) },
  })
  const { routes, members } = parts
  tellChanges(log, 'routes', routes)
  tellChanges(log, 'members', members)
  const part: Part = {
    start: () => {
      void bell.listen()
      parts.start()
    },
    close: async () => {
      await parts.stop()
      await words?.stop()
      bell.close()
    },
  }
  return { ...parts, source, connection, keys, part, isReady: () => routes.isWhole && members.isWhole }
}

const mostTold = 20

/** For operators who look when a gateway has learned of something. */
function tellChanges(log: Basics['log'], what: string, table: RouteTable | MemberTable): void {
  table.onChange(names => {
    const told = [...names].slice(0, mostTold).map(name => {
      const entry = table.get(name)
      return typeof entry === 'object' ? `${name}@${entry.generation}` : `${name} is gone`
    })
    log.debug({ [what]: told, count: names.size }, 'a table has changed')
  })
}

function reportTo({ cuts, logins, sessionsAsked, brokenEntries }: GatewayMetrics): AccessReport {
  return {
    // Refusals are counted with the answer.
    verdict: () => {},
    cut: reason => cuts.inc({ reason }),
    login: result => logins.inc({ result }),
    asked: sessions => sessionsAsked.inc(sessions),
    broken: (table, entries) => brokenEntries.set({ table }, entries),
  }
}
