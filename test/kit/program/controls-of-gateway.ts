/** Controls of the gateway: what it checks before a byte passes, and what ends it. */
import type { Control } from './control.ts'

const cuts = 'src/gateway/access/cuts.ts'

export const controlsOfGateway: readonly Control[] = [
  {
    // Any page may open a WebSocket as its visitor.
    name: 'gateway-no-upgrade-check',
    attacks: [{ name: 'gateway G1 ', expected: /an upgrade of another site was let in: 101/ }],
    edits: [
      {
        file: 'src/gateway/server/gateway.ts',
        find: "if (visit.kind === 'websocket') checkUpgrade(incoming, place.site)",
        replace: '',
      },
    ],
  },
  {
    // A session is of a name.
    name: 'gateway-no-uid',
    attacks: [{ name: 'gateway G1 ', expected: /the session of a deleted namesake holds/ }],
    edits: [
      {
        file: 'src/store/commands/check-sessions.n.lua',
        find: 'id == app_id and uid == app_uid and by == hash',
        replace: 'id == app_id and by == hash',
      },
    ],
  },
  {
    // What is open stays open: no ring is heard, and nothing is swept.
    name: 'gateway-no-cuts',
    attacks: [{ name: 'gateway G2 a logout ', expected: /something was still open/ }],
    edits: [
      { file: cuts, find: "if (what !== 'sessions' || !subject) return", replace: 'return' },
      { file: cuts, find: 'const sweepMs = 3_500', replace: 'const sweepMs = 1e9' },
    ],
  },
  {
    // Whom the identity provider shuts out stays logged in.
    name: 'gateway-no-recheck',
    attacks: [{ name: 'gateway G2 a membership ', expected: /something was still open|a request was let in/ }],
    edits: [
      {
        file: 'src/run/gateway/login.ts',
        find: 'if (recheckSeconds === 0) return {}',
        replace: 'if (recheckSeconds >= 0) return {}',
      },
    ],
  },
  {
    // After a halt, what waited in the kernel passes first.
    name: 'gateway-no-gate',
    whole: true,
    attacks: [{ name: 'gateway G2 a halt ', expected: /apps got a byte after the halt/ }],
    edits: [
      {
        file: 'src/gateway/relay.ts',
        find: 'else if (gate?.mayPass() ?? true) this.#pass',
        replace: 'else if (gate !== null) this.#pass',
      },
    ],
  },
  {
    // WSGI reads X_Forwarded_User as X-Forwarded-User.
    name: 'gateway-no-underscore-rule',
    attacks: [{ name: 'gateway G3 no credential', expected: /X_Forwarded_User: root: an app saw root/ }],
    edits: [{ file: 'src/gateway/policy/to-app.ts', find: ' || !/^[-a-z0-9]+$/.test(name)', replace: '' }],
  },
  {
    name: 'gateway-no-dot-check',
    attacks: [{ name: 'gateway G4 ', expected: /"dots: \d/ }],
    edits: [
      {
        file: 'src/gateway/policy/target.ts',
        find: "if ((path.includes('/.') || path.includes('/%')) && hasDotSegment(path)) return 'the address has dot segments'",
        replace: '',
      },
    ],
  },
  {
    // A table that lost its mark counts as empty.
    name: 'gateway-no-marker',
    attacks: [{ name: 'gateway G8 ', expected: /a new login was answered (404|401|503)/ }],
    edits: [
      {
        file: 'src/gateway/access/followed.ts',
        find: 'leaving: complete ? [...this.#entries.keys()] : [], isFirst',
        replace: 'leaving: [...this.#entries.keys()], isFirst',
      },
    ],
  },
  {
    // Balancers get no time.
    name: 'gateway-no-unready-time',
    attacks: [{ name: 'gateway drain ', expected: /a request was lost/ }],
    edits: [
      {
        file: 'src/run/gateway/drain.ts',
        find: 'await clock.sleep(Math.min(unreadyMs, drainMs * unreadyShare))',
        replace: '',
      },
    ],
  },
  {
    // Redis has the ids of logins and sessions, written otherwise.
    name: 'gateway-plain-ids',
    attacks: [
      { name: 'gateway G10 a copy of Redis opens', expected: /a word of Redis opens an app/ },
      {
        name: 'gateway G10 a copy of Redis leads',
        expected: /a word of Redis, as the cookie of an app, leads to the app/,
      },
    ],
    edits: [
      {
        file: 'src/store/apps/ids.ts',
        find: "hash('sha256', id, 'hex')",
        replace: "Buffer.from(id, 'base64url').toString('hex')",
      },
    ],
  },
  {
    // Refresh tokens are in Redis as they are.
    name: 'gateway-no-seal',
    attacks: [{ name: 'gateway G10 a copy of Redis opens', expected: /RefreshToken \d+ is in Redis/ }],
    edits: [
      {
        file: 'src/gateway/login/keeper.ts',
        find: 'return this.#sealer.seal(JSON.stringify(kept), name, hash)',
        replace: 'return JSON.stringify(kept)',
      },
      {
        file: 'src/gateway/login/keeper.ts',
        find: 'JSON.parse(this.#sealer.open(sealed, name, hash))',
        replace: 'JSON.parse(sealed)',
      },
    ],
  },
]
