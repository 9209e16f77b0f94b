/**
 * The bell of apps, which gateways and those who serve apps ring and hear. The bell of labs is closed to gateways. A ring is
 * `{what, subject?}`; its listeners read the data where they are kept.
 *
 * | what | about | when |
 * |---|---|---|
 * | routes | `app:ID`; without it: all | a route has changed, or the table is complete |
 * | members | `group:NAME`; without it: all | the members of a group have changed, or the table is complete |
 * | sessions | `login:HASH`, `user:NAME`, `app:ID` | logins or sessions were revoked |
 * | intents | `app:ID` | a member wants the app to be started |
 * | events | `app:UID` | the stream of an app has more events; gateways ignore it |
 * | missed | all | rings may have been lost; never sent |
 */
import type { Clock } from '../../base/clock.ts'
import { parseSubject, type Subject } from '../../base/subject.ts'
import { BellOf, type Pauses } from '../bell.ts'
import type { Connection } from '../connection.ts'
import { valueIn } from '../fields.ts'
import type { Keys } from '../keys.ts'
import type { Missed } from '../rings.ts'

/** The kinds of subjects of each ring, and whether it may concern all. */
const whats = {
  routes: { kinds: ['app'], all: true },
  members: { kinds: ['group'], all: true },
  sessions: { kinds: ['login', 'user', 'app'], all: false },
  intents: { kinds: ['app'], all: false },
  events: { kinds: ['app'], all: false },
} as const satisfies Readonly<Record<string, { kinds: readonly string[]; all: boolean }>>

type What = keyof typeof whats

export interface AppRung {
  readonly what: What
  /** Absent: it concerns all. */
  readonly subject?: Subject | undefined
}

export type AppRing = AppRung | Missed

/**
 * Reads an entry of the bell of apps. `fields`: its names and values in turns.
 * @returns undefined for rings of a later release, and for those whose subject does not fit
 */
export function parseAppRing(fields: readonly string[]): AppRung | undefined {
  const what = valueIn(fields, 'what') as What
  if (!Object.hasOwn(whats, what)) return undefined
  const { kinds, all } = whats[what]
  const text = valueIn(fields, 'subject')
  if (text === undefined) return all ? { what } : undefined
  const subject = parseSubject(text)
  return subject && (kinds as readonly string[]).includes(subject.kind) ? { what, subject } : undefined
}

export class AppsBell extends BellOf<AppRung> {
  constructor(connection: Connection, keys: Keys, clock: Clock, onError?: (error: unknown) => void, pauses?: Pauses) {
    super(connection, keys.apps.bell, clock, parseAppRing, onError, pauses)
  }
}
